package org.tilespark.kernels.host.fourier;

import java.util.function.Function;
import java.util.function.IntFunction;
import org.tilespark.kernels.host.HostProfile;

/**
 * The arithmetic of one type, with vectors if the JVM has them, and one number at a time for lines
 * too few to fill a vector. Both give the same bits.
 *
 * @param <A> {@code float[]} or {@code double[]}
 */
final class FourierKernels<A> {
  /** Bytes of a row: one cache line. As many lines are transformed together as it holds numbers. */
  private static final int ROW_BYTES = 64;

  private static final boolean VECTORS = HostProfile.current().vectorBits() > 0;

  /** Kernels for float. */
  static final FourierKernels<float[]> FLOAT =
      new FourierKernels<>(
          VECTORS ? new FloatVectorArithmetic() : null,
          new FloatScalarArithmetic(),
          Float.BYTES,
          float[]::new,
          FourierKernels::floats);

  /** Kernels for double. */
  static final FourierKernels<double[]> DOUBLE =
      new FourierKernels<>(
          VECTORS ? new DoubleVectorArithmetic() : null,
          new DoubleScalarArithmetic(),
          Double.BYTES,
          double[]::new,
          double[]::clone);

  private final FourierArithmetic<A> vectors; // null without vectors
  private final FourierArithmetic<A> scalars;
  private final int bytes;
  private final IntFunction<A> array;
  private final Function<double[], A> rounded;

  FourierKernels(
      FourierArithmetic<A> vectors,
      FourierArithmetic<A> scalars,
      int bytes,
      IntFunction<A> array,
      Function<double[], A> rounded) {
    this.vectors = vectors;
    this.scalars = scalars;
    this.bytes = bytes;
    this.array = array;
    this.rounded = rounded;
  }

  /** These kernels without vectors. */
  FourierKernels<A> scalar() {
    return new FourierKernels<>(null, scalars, bytes, array, rounded);
  }

  private static float[] floats(double[] values) {
    float[] floats = new float[values.length];
    for (int i = 0; i < values.length; i++) {
      floats[i] = (float) values[i];
    }
    return floats;
  }

  /** Bytes of a number. */
  int bytes() {
    return bytes;
  }

  /** How many numbers long a gap in {@link Rows} is. */
  int pad() {
    return Rows.PAD_BYTES / bytes;
  }

  /** The largest number of lines that are worth being transformed together. */
  int lanes() {
    return ROW_BYTES / bytes;
  }

  A array(int length) {
    return array.apply(length);
  }

  A rounded(double[] values) {
    return rounded.apply(values);
  }

  void pass(RadixPass<A> pass, double scale, Rows<A> x, Rows<A> y) {
    int done = vectors == null ? 0 : vectors.pass(pass, 0, scale, x, y);
    if (done < pass.stride() * x.lanes()) {
      scalars.pass(pass, done, scale, x, y);
    }
  }

  void oddToHalf(RadixPass<A> pass, double scale, Rows<A> x, Rows<A> y) {
    int done = vectors == null ? 0 : vectors.oddToHalf(pass, 0, scale, x, y);
    if (done < x.lanes()) {
      scalars.oddToHalf(pass, done, scale, x, y);
    }
  }

  void oddFromHalf(RadixPass<A> pass, double scale, Rows<A> x, Rows<A> y) {
    int done = vectors == null ? 0 : vectors.oddFromHalf(pass, 0, scale, x, y);
    if (done < x.lanes()) {
      scalars.oddFromHalf(pass, done, scale, x, y);
    }
  }

  void multiply(A factors, int rows, Rows<A> x, Rows<A> y) {
    int done = vectors == null ? 0 : vectors.multiply(factors, rows, 0, x, y);
    if (done < x.lanes()) {
      scalars.multiply(factors, rows, done, x, y);
    }
  }

  void toHalf(A roots, int rows, Rows<A> x, Rows<A> y) {
    int done = vectors == null ? 0 : vectors.toHalf(roots, rows, 0, x, y);
    if (done < x.lanes()) {
      scalars.toHalf(roots, rows, done, x, y);
    }
  }

  void fromHalf(A roots, int rows, Rows<A> x, Rows<A> y) {
    int done = vectors == null ? 0 : vectors.fromHalf(roots, rows, 0, x, y);
    if (done < x.lanes()) {
      scalars.fromHalf(roots, rows, done, x, y);
    }
  }

  void pick(int[] rows, Rows<A> x, Rows<A> y) {
    int done = vectors == null ? 0 : vectors.pick(rows, 0, x, y);
    if (done < x.lanes()) {
      scalars.pick(rows, done, x, y);
    }
  }
}
