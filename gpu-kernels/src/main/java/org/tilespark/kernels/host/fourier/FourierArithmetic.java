package org.tilespark.kernels.host.fourier;

/**
 * The arithmetic of transforms, on some neighbouring lines: from line {@code from} on as many as
 * fill whole vectors. Every method returns where it stopped; another implementation does the rest
 * with the same operations in the same order, so that no result depends on which of them made it.
 * Products and the sums that they go into are fused where the CPU can ({@link
 * org.tilespark.kernels.host.Fma}): that rounds once less.
 *
 * @param <A> {@code float[]} or {@code double[]}
 */
interface FourierArithmetic<A> {
  /** One pass; {@code from} counts the numbers of a run of {@code stride * lanes}. */
  int pass(RadixPass<A> pass, int from, double scale, Rows<A> x, Rows<A> y);

  /** Multiplies row k by the complex number k of {@code w}. */
  int multiply(A w, int rows, int from, Rows<A> x, Rows<A> y);

  /**
   * Converts transforms of x(2 j) + i x(2 j + 1) to the frequencies 0 to {@code rows} of x, times
   * two.
   *
   * @param w the roots exp(-2 pi i k / (2 rows)), k from 0 to rows / 2
   */
  int toHalf(A w, int rows, int from, Rows<A> x, Rows<A> y);

  /** Copies row {@code rows[k]} to row k, and of row {@code ~rows[k]} the conjugates. */
  int pick(int[] rows, int from, Rows<A> x, Rows<A> y);

  /**
   * Converts the frequencies 0 to {@code rows} to the input of the transform that gives x(2 j) + i
   * x(2 j + 1).
   */
  int fromHalf(A w, int rows, int from, Rows<A> x, Rows<A> y);

  /**
   * The first pass over real rows, of an odd radix. Of its transforms the later are the conjugates
   * of others; the first {@code radix / 2 + 1} are left.
   */
  int oddToHalf(RadixPass<A> pass, int from, double scale, Rows<A> x, Rows<A> y);

  /** The last pass to real rows, the inverse of {@link #oddToHalf} but for a factor. */
  int oddFromHalf(RadixPass<A> pass, int from, double scale, Rows<A> x, Rows<A> y);
}
