package org.tilespark.kernels.multiply;

import java.util.Objects;

/**
 * The name of a way to compute a multiply on a device: a kernel of this jar, or cuBLAS. Kernels
 * that differ only in their tile compute the sums of one problem in the same order, so they give
 * the same bits ({@link MultiplyStrategy#order}); cuBLAS has an order of its own.
 *
 * @param name {@value #CUBLAS_NAME}, or the name of a kernel
 */
public record MultiplyWay(String name) {
  private static final String CUBLAS_NAME = "cublas";

  /** The way that calls NVIDIA's library cuBLAS. */
  public static final MultiplyWay CUBLAS = new MultiplyWay(CUBLAS_NAME);

  /** Checks that there is a name. */
  public MultiplyWay {
    Objects.requireNonNull(name, "name");
    if (name.isBlank() || name.contains(" ")) {
      throw new IllegalArgumentException(
          "Way '" + name + "' to multiply; expected one word, a kernel or " + CUBLAS_NAME);
    }
  }

  /** True if this way calls cuBLAS. */
  public boolean isCublas() {
    return name.equals(CUBLAS_NAME);
  }

  @Override
  public String toString() {
    return name;
  }
}
