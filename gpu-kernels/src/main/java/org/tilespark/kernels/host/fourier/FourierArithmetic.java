package org.tilespark.kernels.host.fourier;

/**
 * The arithmetic of transforms, on neighbouring lines: a method starts at line {@code from},
 * processes as many lines as fill whole vectors, and returns where it stopped. Another
 * implementation processes the rest with the same operations in the same order, so that results do
 * not depend on the implementation. Products and the sums that they go into are fused where the CPU
 * can ({@link org.tilespark.kernels.host.Fma}): that saves one rounding.
 *
 * @param <A> {@code float[]} or {@code double[]}
 */
interface FourierArithmetic<A> {
  /**
   * Does one pass from {@code x} to {@code y}; {@code from} counts the numbers of a run of {@code
   * stride * lanes}.
   */
  int pass(RadixPass<A> pass, int from, double scale, Rows<A> x, Rows<A> y);

  /** Multiplies row k of {@code x} by the complex number k of {@code w}, into {@code y}. */
  int multiply(A w, int rows, int from, Rows<A> x, Rows<A> y);

  /**
   * Converts transforms of x(2 j) + i x(2 j + 1) to the frequencies 0 to {@code rows} of x, times
   * two.
   *
   * @param w the roots exp(-2 pi i k / (2 rows)), k from 0 to rows / 2
   */
  int toHalf(A w, int rows, int from, Rows<A> x, Rows<A> y);

  /**
   * Copies row {@code rows[k]} of {@code x} to row k of {@code y}; if {@code rows[k]} is negative,
   * copies the conjugates of row {@code ~rows[k]}.
   */
  int pick(int[] rows, int from, Rows<A> x, Rows<A> y);

  /**
   * Converts the frequencies 0 to {@code rows} of x to the input of the transform that gives x(2 j)
   * + i x(2 j + 1), with the roots {@code w} of {@link #toHalf}.
   */
  int fromHalf(A w, int rows, int from, Rows<A> x, Rows<A> y);

  /**
   * The first pass over real rows, of an odd radix. Only the first {@code radix / 2 + 1} of the
   * transforms that it leaves are kept, since the others are conjugates of these.
   */
  int oddToHalf(RadixPass<A> pass, int from, double scale, Rows<A> x, Rows<A> y);

  /**
   * The last pass to real rows, of an odd radix: the inverse of {@link #oddToHalf} except for a
   * factor.
   */
  int oddFromHalf(RadixPass<A> pass, int from, double scale, Rows<A> x, Rows<A> y);
}
