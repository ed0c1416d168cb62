package org.tilespark.examples;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;
import java.util.Random;

/**
 * Compares random frequencies of a file with the discrete Fourier transform of another file, summed
 * by the definition. The allowed error is {@code 8 u log2(N)} times the root mean square of the
 * spectrum, which bounds rounding.
 *
 * <p>Uses the JDK and nothing of tilespark, so that the check does not share a defect.
 *
 * @param frequencies how many frequencies were compared
 * @param worst the largest error, as a fraction of the allowed error
 * @param seed seed of the random frequencies
 * @param defect the first error that is too large, or null
 */
record SpectrumCheck(int frequencies, double worst, long seed, String defect) {
  private static final int SAMPLE = 8;

  /**
   * Compares random frequencies.
   *
   * @param values the file of a volume
   * @param spectrum the file of its transform, not normalised, in natural order
   * @param half true if the spectrum's last axis has only the frequencies from 0 to half the extent
   * @param unit relative error of one rounding: 2^-24 or 2^-53
   */
  static SpectrumCheck run(Path values, Path spectrum, boolean half, double unit, long seed)
      throws IOException {
    try (NpyElements in = NpyElements.open(values);
        NpyElements out = NpyElements.open(spectrum)) {
      long[] shape = in.shape();
      long[] expected = shape.clone();
      if (half) {
        expected[2] = shape[2] / 2 + 1;
      }
      if (!Arrays.equals(expected, out.shape()) || !out.isComplex()) {
        return new SpectrumCheck(
            0,
            0,
            seed,
            "the spectrum is "
                + out.type()
                + Arrays.toString(out.shape())
                + ", expected complex numbers of "
                + Arrays.toString(expected));
      }
      Sum[] sums = sums(expected, shape, new Random(seed));
      double energy = addAll(in, sums);
      double elements = (double) shape[0] * shape[1] * shape[2];
      double allowed = 8 * unit * Math.max(1, Math.log(elements) / Math.log(2));
      double worst = 0;
      for (Sum sum : sums) {
        double[] real = new double[1];
        double[] imag = new double[1];
        out.line(sum.frequency, real, imag);
        double off =
            Math.hypot(real[0] - sum.real, imag[0] - sum.imag)
                / (allowed * (Math.sqrt(energy) + Math.hypot(sum.real, sum.imag)));
        boolean same = real[0] == sum.real && imag[0] == sum.imag;
        worst = same ? worst : Math.max(worst, off);
        if (!same && !(off <= 1)) {
          return new SpectrumCheck(
              sums.length,
              off,
              seed,
              String.format(
                  Locale.ROOT,
                  "spectrum%s is %s + %sj, expected %s + %sj, off by %.3g of what rounding"
                      + " explains",
                  Arrays.toString(sum.frequency),
                  real[0],
                  imag[0],
                  sum.real,
                  sum.imag,
                  off));
        }
      }
      return new SpectrumCheck(sums.length, worst, seed, null);
    }
  }

  /** Chooses frequencies: first 0, last the highest along each axis, else random. */
  private static Sum[] sums(long[] spectrum, long[] shape, Random random) {
    Sum[] sums = new Sum[SAMPLE];
    for (int s = 0; s < SAMPLE; s++) {
      long[] frequency = new long[3];
      for (int axis = 0; axis < 3 && s > 0; axis++) {
        frequency[axis] = s == SAMPLE - 1 ? spectrum[axis] - 1 : random.nextLong(spectrum[axis]);
      }
      sums[s] = new Sum(frequency, shape);
    }
    return sums;
  }

  /** Adds every element of the volume to every sum; returns the sum of the squared elements. */
  private static double addAll(NpyElements in, Sum[] sums) throws IOException {
    long[] shape = in.shape();
    int along = in.contiguousAxis();
    int outer = along == 0 ? 2 : 0;
    double[] real = new double[Math.toIntExact(shape[along])];
    double[] imag = new double[real.length];
    long[] index = new long[3];
    double energy = 0;
    for (index[outer] = 0; index[outer] < shape[outer]; index[outer]++) {
      for (index[1] = 0; index[1] < shape[1]; index[1]++) {
        in.line(index, real, imag);
        double ofLine = 0;
        for (int i = 0; i < real.length; i++) {
          ofLine += real[i] * real[i] + imag[i] * imag[i];
        }
        energy += ofLine;
        for (Sum sum : sums) {
          sum.addLine(index, along, real, imag);
        }
      }
    }
    return energy;
  }

  /** The partial sum of the transform at one frequency. */
  private static final class Sum {
    private final long[] frequency;
    private final double[][] cos = new double[3][];
    private final double[][] sin = new double[3][];
    private double real;
    private double imag;

    private Sum(long[] frequency, long[] shape) {
      this.frequency = frequency;
      for (int axis = 0; axis < 3; axis++) {
        int n = Math.toIntExact(shape[axis]);
        cos[axis] = new double[n];
        sin[axis] = new double[n];
        for (int i = 0; i < n; i++) {
          double angle = -2 * Math.PI * (i * frequency[axis] % n) / n;
          cos[axis][i] = Math.cos(angle);
          sin[axis][i] = Math.sin(angle);
        }
      }
    }

    private void addLine(long[] index, int along, double[] lineReal, double[] lineImag) {
      double re = 0;
      double im = 0;
      double[] c = cos[along];
      double[] s = sin[along];
      for (int i = 0; i < lineReal.length; i++) {
        re += lineReal[i] * c[i] - lineImag[i] * s[i];
        im += lineReal[i] * s[i] + lineImag[i] * c[i];
      }
      for (int axis = 0; axis < 3; axis++) {
        if (axis != along) {
          double ca = cos[axis][(int) index[axis]];
          double sa = sin[axis][(int) index[axis]];
          double turned = re * ca - im * sa;
          im = re * sa + im * ca;
          re = turned;
        }
      }
      real += re;
      imag += im;
    }
  }

  boolean isRight() {
    return defect == null;
  }

  @Override
  public String toString() {
    return isRight()
        ? String.format(
            Locale.ROOT,
            "right: the spectrum at %d frequencies, summed up from the file, is off by at most %.2g"
                + " of what rounding explains (seed %d)",
            frequencies,
            worst,
            seed)
        : "WRONG: " + defect + " (seed " + seed + ")";
  }
}
