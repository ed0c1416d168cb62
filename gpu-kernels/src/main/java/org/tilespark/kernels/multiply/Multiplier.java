package org.tilespark.kernels.multiply;

import org.tilespark.kernels.memory.HostMemory;

/**
 * Multiplies matrices held in host memory; implemented on the host (the oracle and the fallback)
 * and on a device. Each implementation computes sums in an order that depends on the problem alone,
 * so it gives the same bits for the same problem every time. Devices with another architecture, and
 * for few tiles of C also with another count of multiprocessors, may give other last bits.
 *
 * <p>Host and device both sum FLOAT in float and DOUBLE in double. The host sums elements of FLOAT
 * again in double if their sum is not finite, so a sum that fits FLOAT is finite there. Elsewhere
 * an element may be infinite or NaN if a product or a partial sum on the way overflows, which
 * depends on the order of the sum.
 *
 * <p>Implementations are safe for use by several threads at once.
 */
public interface Multiplier extends AutoCloseable {
  /**
   * Computes {@code C = alpha op(A) op(B) + beta C} for each product of the batch; returns when
   * {@code c} is complete.
   *
   * @param problem extents, type, precision, transposes, leading dimensions, factors and batch
   * @param a exactly {@code problem.bytesA()} bytes; borrowed, not changed
   * @param b exactly {@code problem.bytesB()} bytes; borrowed, not changed
   * @param c exactly {@code problem.bytesC()} bytes; borrowed; must not overlap A or B; the gaps
   *     between its rows and products stay as they are
   * @throws IllegalArgumentException if a range has another length than the problem needs
   */
  void multiply(MultiplyProblem problem, HostMemory a, HostMemory b, HostMemory c);

  /**
   * Multiplies matrices by their own transposes, which gives symmetric results. It does what {@link
   * #multiply} does with A as B, but the elements below the diagonal of each C are undefined
   * afterwards. A multiplier that can leave these out takes about half of the time.
   *
   * @param problem the product; its factors are {@code OVERWRITE} or {@code ADD}
   * @param a exactly {@code problem.bytesA()} bytes; borrowed, not changed
   * @param c as that of {@link #multiply}
   * @throws IllegalArgumentException if a range has another length than the problem needs, or the
   *     problem {@linkplain MultiplyProblem#isGram cannot be} a product with the transpose
   */
  default void multiplyHalf(MultiplyProblem problem, HostMemory a, HostMemory c) {
    requireHalf(problem);
    multiply(problem, a, a, c);
  }

  /** Checks that a problem meets the conditions of {@link #multiplyHalf}. */
  static void requireHalf(MultiplyProblem problem) {
    boolean isPlain =
        problem.factors().equals(MultiplyProblem.Factors.OVERWRITE)
            || problem.factors().equals(MultiplyProblem.Factors.ADD);
    if (!problem.isGram() || !isPlain) {
      throw new IllegalArgumentException(
          "Half of "
              + problem
              + "; expected M = N, one operand transposed, operands stored alike, and factors that"
              + " overwrite or add");
    }
  }

  /** Releases what this multiplier owns; may be called twice. */
  @Override
  void close();
}
