package org.tilespark.spark.conf;

/** Who the user wants to compute. */
public enum Backend {
  /** The GPU where the executor has one, else the CPU. */
  AUTO,
  /** The GPU; a failure where there is none. */
  GPU,
  /** The CPU. */
  CPU
}
