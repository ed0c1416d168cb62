package org.tilespark.spark.conf;

/** The device that the user wants for computation. */
public enum Backend {
  /** The GPU if the executor has one, otherwise the CPU. */
  AUTO,
  /** The GPU; if the executor has none, tasks fail. */
  GPU,
  /** The CPU, even if the executor has a GPU. */
  CPU
}
