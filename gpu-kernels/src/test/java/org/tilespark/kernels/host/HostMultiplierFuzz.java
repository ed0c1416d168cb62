package org.tilespark.kernels.host;

import java.util.Arrays;
import java.util.SplittableRandom;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.multiply.Extents;
import org.tilespark.kernels.multiply.MultiplyProblem;
import org.tilespark.kernels.multiply.Precision;
import org.tilespark.layout.ElementType;

/**
 * Random products of {@link HostMultiplier}, held against sums in twice the digits of a double. A
 * program, since the width of vectors is a JVM's for good.
 */
final class HostMultiplierFuzz {
  private static final int GUARD = 5; // elements on both sides of C that must stay
  private static final double[] SPECIAL = {
    Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY, 0, -0.0
  };

  private final HostMultiplier multiplier;
  private final SplittableRandom random;
  private final long seed;
  private long digest;

  private HostMultiplierFuzz(HostMultiplier multiplier, long seed) {
    this.multiplier = multiplier;
    this.random = new SplittableRandom(seed);
    this.seed = seed;
  }

  /** Prints the width of vectors, and a digest of all results; arguments: seed, products. */
  public static void main(String[] args) {
    HostProfile profile = HostProfile.current();
    long digest = run(profile, Long.parseLong(args[0]), Integer.parseInt(args[1]));
    System.out.printf("%d %016x%n", profile.vectorBits(), digest);
  }

  /** A digest of the bits of random products, whose errors are within the documented bound. */
  static long run(HostProfile profile, long seed, int products) {
    try (HostMultiplier multiplier = new HostMultiplier(profile)) {
      HostMultiplierFuzz fuzz = new HostMultiplierFuzz(multiplier, seed);
      for (int i = 0; i < products; i++) {
        fuzz.product(i);
      }
      return fuzz.digest;
    }
  }

  private void product(int number) {
    int m = extent(number % 7 == 0 ? 150 : 40);
    int n = extent(number % 5 == 0 ? 150 : 40);
    int k = extent(number % 3 == 0 ? 1000 : 60);
    boolean transposeA = random.nextBoolean();
    boolean transposeB = random.nextBoolean();
    boolean isFloat = random.nextBoolean();
    double alpha = random.nextInt(3) == 0 ? -0.75 : 1;
    double beta = new double[] {0, 1, 0.5}[random.nextInt(3)];
    int leadA = (transposeA ? m : k) + random.nextInt(4);
    int leadB = (transposeB ? k : n) + random.nextInt(4);
    int leadC = n + random.nextInt(4);
    MultiplyProblem problem =
        new MultiplyProblem(
            new Extents(m, k, n),
            isFloat ? ElementType.FLOAT32 : ElementType.FLOAT64,
            Precision.FULL,
            new MultiplyProblem.Stored(transposeA, leadA),
            new MultiplyProblem.Stored(transposeB, leadB),
            leadC,
            new MultiplyProblem.Factors(alpha, beta),
            MultiplyProblem.Batch.ONE);
    boolean isSpecial = random.nextInt(4) == 0;
    double[] a = values((transposeA ? k : m) * leadA, isFloat, isSpecial);
    double[] b = values((transposeB ? n : k) * leadB, isFloat, isSpecial);
    double[] c = values(2 * GUARD + m * leadC, isFloat, false);
    double[] found = c.clone();
    multiply(problem, isFloat, a, b, found);
    for (int at = 0; at < c.length; at++) {
      int i = Math.floorDiv(at - GUARD, leadC);
      int j = Math.floorMod(at - GUARD, leadC);
      if (i < 0 || i >= m || j >= n) {
        require(Double.compare(found[at], c[at]) == 0, problem, "writes beside C at " + at);
        continue;
      }
      Sum sum = new Sum();
      for (int p = 0; p < k; p++) {
        double x = a[transposeA ? p * leadA + i : i * leadA + p];
        double y = b[transposeB ? j * leadB + p : p * leadB + j];
        sum.addProduct(alpha * x, y);
      }
      if (beta != 0) {
        sum.addProduct(beta, c[at]);
      }
      check(problem, isFloat, sum, found[at], i, j);
      digest = digest * 31 + Double.doubleToLongBits(found[at]);
    }
  }

  private void check(
      MultiplyProblem problem, boolean isFloat, Sum sum, double found, int i, int j) {
    double plain = sum.plain;
    boolean isRight;
    if (Double.isNaN(plain) || Double.isInfinite(plain)) {
      isRight = Double.compare(found, plain) == 0;
    } else {
      double unit = isFloat ? 0x1p-24 : 0x1p-53;
      double units = Math.min(2 * Math.sqrt((double) problem.k()), 76) + 3; // 3: alpha, beta, end
      isRight = Math.abs(found - sum.high - sum.low) <= units * unit * sum.absolute;
    }
    require(isRight, problem, String.format("(%d, %d) is %s; expected %s", i, j, found, sum.high));
  }

  private void require(boolean isRight, MultiplyProblem problem, String what) {
    if (!isRight) {
      throw new AssertionError("Seed " + seed + ", " + problem + ": " + what);
    }
  }

  private int extent(int most) {
    return 1 + random.nextInt(most);
  }

  /** Values of the type, as doubles; few of them special. */
  private double[] values(int count, boolean isFloat, boolean isSpecial) {
    double[] values = new double[count];
    for (int e = 0; e < count; e++) {
      double value =
          isSpecial && random.nextInt(200) == 0
              ? SPECIAL[random.nextInt(SPECIAL.length)]
              : Math.scalb(random.nextDouble() - 0.5, random.nextInt(-6, 7));
      values[e] = isFloat ? (float) value : value;
    }
    return values;
  }

  /** Multiplies from arrays that begin at an odd element; C is what the guards enclose. */
  private void multiply(
      MultiplyProblem problem, boolean isFloat, double[] a, double[] b, double[] c) {
    int skipA = random.nextInt(4);
    int skipB = random.nextInt(4);
    HostMemory memoryC = memory(c, 0, isFloat);
    multiplier.multiply(
        problem,
        memory(a, skipA, isFloat).slice(skipA * (long) problem.type().bytes(), problem.bytesA()),
        memory(b, skipB, isFloat).slice(skipB * (long) problem.type().bytes(), problem.bytesB()),
        memoryC.slice(GUARD * (long) problem.type().bytes(), problem.bytesC()));
    for (int e = 0; e < c.length; e++) {
      long at = memoryC.offset() + (long) e * problem.type().bytes();
      c[e] =
          isFloat
              ? HostMemory.unsafe().getFloat(memoryC.base(), at)
              : HostMemory.unsafe().getDouble(memoryC.base(), at);
    }
  }

  private static HostMemory memory(double[] values, int skip, boolean isFloat) {
    if (isFloat) {
      float[] floats = new float[skip + values.length];
      for (int e = 0; e < values.length; e++) {
        floats[skip + e] = (float) values[e];
      }
      return HostMemory.ofArray(floats);
    }
    double[] doubles = new double[skip + values.length];
    System.arraycopy(values, 0, doubles, skip, values.length);
    Arrays.fill(doubles, 0, skip, Double.NaN);
    return HostMemory.ofArray(doubles);
  }

  /** A sum in twice the digits of a double. */
  private static final class Sum {
    double high;
    double low;
    double plain; // says what is infinite or NaN
    double absolute;

    void addProduct(double x, double y) {
      double product = x * y;
      double rest = Math.fma(x, y, -product);
      plain += product;
      absolute += Math.abs(product);
      double sum = high + product;
      double seen = sum - high;
      low += (high - (sum - seen)) + (product - seen) + rest;
      high = sum;
    }
  }
}
