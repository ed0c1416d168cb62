package org.tilespark.examples;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Random;

/**
 * Compares random elements of a file with the product of two other files. The allowed error of an
 * element is {@code 2 u sqrt(K)} times the sum of its products' magnitudes, which bounds rounding
 * to unit {@code u}. The expected value is summed with twice the digits of double.
 *
 * <p>Uses the JDK and nothing of tilespark, so that the check does not share a defect.
 *
 * @param elements how many elements were compared
 * @param worst the largest error, as a fraction of the allowed error
 * @param seed seed of the random elements
 * @param defect the first error that is too large, or null
 */
record ProductCheck(int elements, double worst, long seed, String defect) {
  private static final long READS = 1 << 21;

  /** A factor: the matrix in a file, or its transpose. */
  record Factor(Path file, boolean transposed) {}

  private record Elements(NpyElements file, boolean transposed, boolean asFloat) {
    long extent(int axis) {
      return file.shape()[transposed ? 1 - axis : axis];
    }

    double at(long i, long j) throws IOException {
      double number = transposed ? file.number(j, i) : file.number(i, j);
      return asFloat ? (float) number : number;
    }
  }

  /**
   * Compares random elements.
   *
   * @param asFloat true if the job read the numbers as FLOAT
   * @param unit relative error of one rounding: 2^-24, 2^-53, or coarser
   */
  static ProductCheck run(Factor a, Factor b, Path c, boolean asFloat, double unit, long seed)
      throws IOException {
    try (NpyElements fileA = NpyElements.open(a.file());
        NpyElements fileB = NpyElements.open(b.file());
        NpyElements product = NpyElements.open(c)) {
      Elements left = new Elements(fileA, a.transposed(), asFloat);
      Elements right = new Elements(fileB, b.transposed(), asFloat);
      long m = left.extent(0);
      long k = left.extent(1);
      long n = right.extent(1);
      long[] found = product.shape();
      if (found.length != 2 || found[0] != m || found[1] != n) {
        return new ProductCheck(
            0,
            0,
            seed,
            "the output is "
                + java.util.Arrays.toString(found)
                + ", expected ["
                + m
                + ", "
                + n
                + "]");
      }
      double allowed = 2 * unit * Math.sqrt((double) k) * (1 + unit);
      int samples = (int) Math.max(4, Math.min(1024, READS / Math.max(1, k)));
      Random random = new Random(seed);
      double worst = 0;
      for (int s = 0; s < samples; s++) {
        long i = s < 4 ? (s & 1) * (m - 1) : random.nextLong(m);
        long j = s < 4 ? (s >> 1) * (n - 1) : random.nextLong(n);
        double sum = 0;
        double error = 0;
        double magnitude = 0;
        for (long at = 0; at < k; at++) {
          double x = left.at(i, at);
          double y = right.at(at, j);
          double p = x * y;
          double t = sum + p;
          double rounded = t - sum;
          // The rounding errors of product and sum (Ogita, Rump and Oishi 2005, Dot2).
          error += Math.fma(x, y, -p) + ((sum - (t - rounded)) + (p - rounded));
          sum = t;
          magnitude += Math.abs(p);
        }
        double expected = Double.isFinite(sum) ? sum + error : sum;
        double value = product.number(i, j);
        double off = Math.abs(value - expected) / (allowed * magnitude);
        boolean same = Double.compare(value, expected) == 0 || value == expected;
        worst = same ? worst : Math.max(worst, off);
        if (!same && !(off <= 1)) {
          return new ProductCheck(
              s + 1,
              off,
              seed,
              String.format(
                  Locale.ROOT,
                  "output[%d, %d] is %s, expected %s, off by %.3g of what rounding explains",
                  i,
                  j,
                  value,
                  expected,
                  off));
        }
      }
      return new ProductCheck(samples, worst, seed, null);
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
            "right: %d elements of the output are off by at most %.2g of what rounding explains"
                + " (seed %d)",
            elements,
            worst,
            seed)
        : "WRONG: " + defect + " (seed " + seed + ")";
  }
}
