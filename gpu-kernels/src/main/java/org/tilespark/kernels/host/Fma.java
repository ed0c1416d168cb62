package org.tilespark.kernels.host;

/**
 * A multiply-add that rounds once if the CPU has an instruction for it, as vector kernels do. Other
 * CPUs round twice, since {@link Math#fma} takes a thousand times as long there.
 */
public final class Fma {
  private static final boolean FUSED = Vectors.isFused();

  private Fma() {}

  /** {@code a * b + c}. */
  public static float of(float a, float b, float c) {
    return FUSED ? Math.fma(a, b, c) : a * b + c;
  }

  /** {@code a * b + c}. */
  public static double of(double a, double b, double c) {
    return FUSED ? Math.fma(a, b, c) : a * b + c;
  }
}
