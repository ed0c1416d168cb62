package org.tilespark.spark.conf;

/** The user's choice of who computes. */
public enum Backend {
  /** The GPU where the executor has one, else the CPU. */
  AUTO,
  /** The GPU; a failure where there is none. */
  GPU,
  /** The CPU. */
  CPU
}
