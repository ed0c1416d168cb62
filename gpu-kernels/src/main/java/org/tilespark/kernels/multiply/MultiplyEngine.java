package org.tilespark.kernels.multiply;

/** Whose kernels multiply on the device. */
public enum MultiplyEngine {
  /** Whichever is expected to be faster; the only one that can, where one cannot. */
  AUTO,
  /** This project's own. */
  OWN,
  /** NVIDIA's cuBLAS, where it is installed. */
  CUBLAS
}
