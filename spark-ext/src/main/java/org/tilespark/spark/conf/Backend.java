package org.tilespark.spark.conf;

/** The user's choice of who computes. */
public enum Backend {
  /** The GPU if the executor has one, otherwise the CPU. */
  AUTO,
  /** The GPU; a failure where there is none. */
  GPU,
  /** The CPU. */
  CPU
}
