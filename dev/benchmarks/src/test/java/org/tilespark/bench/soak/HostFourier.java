package org.tilespark.bench.soak;

import java.util.Arrays;
import java.util.Optional;
import org.tilespark.spark.options.Norm;

/**
 * The spectrum of a volume by the sums that define it, axis by axis; its axes in the volume's
 * order, all of their frequencies there.
 *
 * @param dense three extents, complex
 * @param axes letters of those that were transformed
 */
record HostFourier(Dense dense, String axes) {
  static HostFourier of(Dense volume, String axes) {
    return new HostFourier(summed(volume.asComplex(), axes, -1), axes);
  }

  /** The volume of this spectrum, if it was not normed. */
  Dense inverse() {
    return new HostFourier(summed(dense, axes, 1), axes).scaled(1 / elements(dense, axes)).dense;
  }

  /** The factor of a forward transform. */
  static double scale(Norm norm, Dense volume, String axes) {
    return switch (norm) {
      case BACKWARD -> 1;
      case ORTHO -> 1 / Math.sqrt(elements(volume, axes));
      case FORWARD -> 1 / elements(volume, axes);
    };
  }

  HostFourier scaled(double factor) {
    Dense result = Dense.zeros(dense.extents()).asComplex();
    Arrays.setAll(result.values(), i -> dense.values()[i] * factor);
    Arrays.setAll(im(result), i -> im(dense)[i] * factor);
    return new HostFourier(result, axes);
  }

  /** The products at equal frequencies. */
  HostFourier times(HostFourier other) {
    double[] a = dense.values();
    double[] b = im(dense);
    double[] c = other.dense.values();
    double[] d = im(other.dense);
    Dense result = Dense.zeros(dense.extents()).asComplex();
    Arrays.setAll(result.values(), i -> a[i] * c[i] - b[i] * d[i]);
    Arrays.setAll(im(result), i -> a[i] * d[i] + b[i] * c[i]);
    return new HostFourier(result, axes);
  }

  /** Zero where the absolute value of the frequency is above a cutoff, in cycles per element. */
  HostFourier lowPass(double cutoff) {
    Dense result = Dense.zeros(dense.extents()).asComplex();
    long[] at = new long[dense.extents().length];
    for (int i = 0; i < result.values().length; i++) {
      dense.unravel(i, at);
      double squares = 0;
      for (char letter : axes.toCharArray()) {
        long k = at["xyz".indexOf(letter)];
        long n = dense.extents()["xyz".indexOf(letter)];
        squares += Math.pow(Math.min(k, n - k) / (double) n, 2);
      }
      if (Math.sqrt(squares) <= cutoff) {
        result.copy(i, dense, i);
      }
    }
    return new HostFourier(result, axes);
  }

  /** The frequencies 0 to n / 2 of one axis. */
  Dense half(int axis) {
    long[] extents = dense.extents().clone();
    extents[axis] = extents[axis] / 2 + 1;
    Dense result = Dense.zeros(extents).asComplex();
    long[] at = new long[extents.length];
    for (int i = 0; i < result.values().length; i++) {
      result.unravel(i, at);
      result.copy(i, dense, dense.index(at));
    }
    return result;
  }

  private static double elements(Dense volume, String axes) {
    return axes.chars()
        .mapToDouble(letter -> (double) volume.extents()["xyz".indexOf(letter)])
        .reduce(1, (a, b) -> a * b);
  }

  private static double[] im(Dense complex) {
    return complex.imag().orElseThrow();
  }

  /** The sums along each axis, of the numbers times {@code exp(sign * 2 pi i j k / n)}. */
  private static Dense summed(Dense volume, String axes, int sign) {
    Dense result = volume;
    for (char letter : axes.toCharArray()) {
      result = summed(result, "xyz".indexOf(letter), sign);
    }
    return result;
  }

  private static Dense summed(Dense volume, int axis, int sign) {
    int n = Math.toIntExact(volume.extents()[axis]);
    double[] cos = new double[n];
    double[] sin = new double[n];
    Arrays.setAll(cos, i -> Math.cos(2 * Math.PI * i / n));
    Arrays.setAll(sin, i -> sign * Math.sin(2 * Math.PI * i / n));
    long stride = 1;
    for (int inner = axis + 1; inner < volume.extents().length; inner++) {
      stride *= volume.extents()[inner];
    }
    double[] re = volume.values();
    double[] im = im(volume);
    double[] sumRe = new double[re.length];
    double[] sumIm = new double[re.length];
    long[] at = new long[volume.extents().length];
    for (int i = 0; i < re.length; i++) {
      volume.unravel(i, at);
      int k = Math.toIntExact(at[axis]);
      int from = Math.toIntExact(i - k * stride); // the line's first element
      for (int j = 0; j < n; j++) {
        int turn = j * k % n;
        int source = Math.toIntExact(from + j * stride);
        sumRe[i] += re[source] * cos[turn] - im[source] * sin[turn];
        sumIm[i] += re[source] * sin[turn] + im[source] * cos[turn];
      }
    }
    return new Dense(volume.extents(), sumRe, Optional.of(sumIm));
  }
}
