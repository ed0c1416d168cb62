package org.tilespark.kernels.multiply;

/** The engines of which one multiplies on the device. */
public enum MultiplyEngine {
  /** The engine that is expected to be faster; if only one can compute a product, that one. */
  AUTO,
  /** This project's own kernels. */
  OWN,
  /** NVIDIA's cuBLAS, where it is installed. */
  CUBLAS
}
