package org.tilespark.kernels.device;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.multiply.MultiplyProblem;
import org.tilespark.kernels.multiply.Precision;
import org.tilespark.kernels.multiply.ProductKind;
import org.tilespark.layout.ElementType;

/**
 * Errors of every own kernel for products, in every precision, against sums of twice the digits, of
 * terms that are scaled by their place or taken back by others; rounding alone, of values that are
 * hard to round; and that kernels of one order of sums differ in no bit.
 */
@RequiresGpu
class ProductErrorsIT extends MultiplyWays {
  /** Whole tiles; ragged ones; one element; a long K; many tiles. */
  private static final long[][] SHAPES = {
    {128, 64, 128}, {129, 33, 127}, {1, 1000, 1}, {257, 4096, 65}, {511, 77, 513}, {300, 1000, 200}
  };

  /**
   * The largest errors of cuBLAS's SGEMM at 1024 x 512 x 1024 on an H200, by the order of the terms
   * (docs/benchmarks/earlier): FLOAT on the tensor cores is for no larger ones.
   */
  private static final double[] SGEMM = {2.5e-7, 1.5e-6, 8.5e-7, 5.2e-9, 1.5e-7};

  private static final float[] SPECIALS = {
    Float.POSITIVE_INFINITY,
    Float.NEGATIVE_INFINITY,
    Float.NaN,
    0,
    -0f,
    0x1p-149f,
    0x1p-133f,
    -0x1p-101f,
    0x1p-100f,
    Float.MAX_VALUE,
    65520, // the least that float16 rounds to infinity
    0x1p-25f // the greatest that float16 rounds to zero
  };

  @Test
  void termsByTheirPlaceInEveryWay() {
    SplittableRandom random = new SplittableRandom(71);
    for (ProductKind kind : ProductKind.values()) {
      for (OneWay way : own(kind)) {
        int turn = 0;
        for (long[] shape : SHAPES) {
          for (int which = 0; which < 4; which++) {
            Terms terms = Terms.values()[turn++ % Terms.values().length];
            if (terms == Terms.SCALED && kind.precision() == Precision.FLOAT16) {
              terms = Terms.POSITIVE; // float16 has no 2^40
            }
            boolean dense = random.nextBoolean();
            MultiplyProblem problem =
                problem(way.near(shape), kind.type(), which, dense, random)
                    .withPrecision(kind.precision())
                    .withFactors(MultiplyProblem.Factors.OVERWRITE);
            OneWay placed = dense ? way.at(0) : way;
            if (placed.takes(problem)) {
              checkTerms(placed, problem, terms, random.nextLong(), allowedError(problem, terms));
            }
          }
        }
      }
    }
  }

  /**
   * Of full precision the project's bar. Of lower ones each instruction of the tensor cores, at
   * least 8 steps of K, may cut off a unit of the sum, and so may a few additions after them.
   */
  private double allowedError(MultiplyProblem problem, Terms terms) {
    return problem.precision() == Precision.FULL
        ? allowed(problem, terms)
        : 0x1p-23 * (problem.k() / 8.0 + 8);
  }

  /** The split errs less than float sums do. */
  @Test
  void errorsOfTheSplitAreBelowThoseOfSgemm() {
    Assumptions.assumeTrue(split().isPresent(), "this device has no kernel that splits floats");
    OneWay way = split().orElseThrow();
    SplittableRandom random = new SplittableRandom(72);
    for (Terms terms : Terms.values()) {
      for (int which = 0; which < 4; which++) {
        MultiplyProblem problem =
            MultiplyProblem.dense(
                1024, 512, 1024, ElementType.FLOAT32, (which & 1) != 0, (which & 2) != 0);
        checkTerms(way.at(0), problem, terms, random.nextLong(), SGEMM[terms.ordinal()]);
      }
    }
  }

  /** A product by 1 is the value, rounded to nearest and ties to even, wherever that is done. */
  @Test
  void everyWayRoundsAsAsked() {
    SplittableRandom random = new SplittableRandom(73);
    for (ProductKind kind : ProductKind.values()) {
      if (kind.precision() == Precision.FULL) {
        continue;
      }
      for (OneWay way : own(kind)) {
        for (int which = 0; which < 8 && !way.isSkinny(); which++) { // NarrowProductsIT has those
          MultiplyProblem problem = dense(way.near(140, 72, 256), kind, which & 3);
          if (way.takes(problem)) {
            checkRounding(way, problem, which < 4, random);
          }
          if (way.at(0).takes(problem)) {
            checkRounding(way.at(0), problem, which < 4, random);
          }
        }
      }
    }
  }

  /** Values in A or B, and in the other a one in each row or column. */
  private static void checkRounding(
      OneWay way, MultiplyProblem problem, boolean valuesInA, SplittableRandom random) {
    int k = (int) problem.k();
    float[] a = new float[(int) (problem.m() * k)];
    float[] b = new float[(int) (problem.n() * k)];
    float[] values = valuesInA ? a : b;
    for (int at = 0; at < values.length; at++) {
      values[at] = tieOrNot(random);
    }
    for (int x = 0; x < (valuesInA ? problem.n() : problem.m()); x++) {
      if (valuesInA) {
        b[inB(problem, x % k, x)] = 1;
      } else {
        a[inA(problem, x, x % k)] = 1;
      }
    }
    float[] c = product(way, problem, a, b);
    for (int i = 0; i < problem.m(); i++) {
      for (int j = 0; j < problem.n(); j++) {
        float value = valuesInA ? a[inA(problem, i, j % k)] : b[inB(problem, i % k, j)];
        String where = way + ", " + problem + ": C[" + i + ", " + j + "] from " + value;
        // Zeros of either sign are equal here.
        float found = c[(int) (i * problem.n() + j)];
        assertEquals(problem.precision().round(value) + 0f, found + 0f, where);
      }
    }
  }

  /** Between 2^-30 and 2^15; one in three is a tie of 10 bits, one of 7. */
  private static float tieOrNot(SplittableRandom random) {
    int cut = new int[] {0, 12, 15}[random.nextInt(3)];
    int mantissa = random.nextInt(1 << 23) >> cut << cut | (cut == 0 ? 0 : 1 << cut);
    float value = Math.scalb(Float.intBitsToFloat(127 << 23 | mantissa), random.nextInt(-30, 15));
    return random.nextBoolean() ? value : -value;
  }

  /**
   * Kernels that differ in tiles, in what packs or in who rounds make the same bits, of one
   * product, of few tiles and of batches, with infinities, NaN, subnormal numbers and ties among
   * the inputs.
   */
  @Test
  void waysOfOneOrderMakeTheSameBits() {
    SplittableRandom random = new SplittableRandom(74);
    Set<String> compared = new HashSet<>();
    for (ProductKind kind : ProductKind.values()) {
      if (kind == ProductKind.DOUBLE) {
        continue; // MultiplyWaysIT.largeDoublesAgainAndAgain
      }
      List<OneWay> ways = own(kind).stream().filter(way -> !way.isSkinny()).toList();
      for (long[] shape : new long[][] {{300, 100, 256}, {140, 3000, 128}, {513, 77, 511}}) {
        for (int which = 0; which < 4; which++) {
          MultiplyProblem one = dense(shape, kind, which);
          for (MultiplyProblem problem : List.of(one, batch(one, 5, Lie.BEHIND))) {
            for (boolean special : new boolean[] {false, true}) {
              compareBits(ways, problem, special, random, compared);
            }
          }
        }
      }
    }
    System.out.println("ways whose bits were compared with another's: " + compared);
    assertTrue(!compared.isEmpty());
  }

  private static void compareBits(
      List<OneWay> ways,
      MultiplyProblem problem,
      boolean special,
      SplittableRandom random,
      Set<String> compared) {
    float[] a = inputs((int) (problem.bytesA() / Float.BYTES), special, random);
    float[] b = inputs((int) (problem.bytesB() / Float.BYTES), special, random);
    Map<String, float[]> firsts = new HashMap<>(); // by the order of sums
    for (OneWay each : ways) {
      OneWay way = each.at(0);
      if (!way.takes(problem)) {
        continue;
      }
      float[] c = product(way, problem, a, b);
      float[] first = firsts.computeIfAbsent(way.plan(problem).strategy().order(), order -> c);
      if (first != c) {
        compared.add(way.toString());
        // Any NaN is as good as another.
        assertEquals(
            -1, Arrays.mismatch(first, c), () -> way + ", special " + special + ", " + problem);
      }
    }
  }

  private static float[] inputs(int count, boolean special, SplittableRandom random) {
    float[] values = floats(count, random);
    for (int at = 0; special && at < count; at++) {
      int kind = random.nextInt(4096);
      if (kind == 0) {
        values[at] = SPECIALS[random.nextInt(SPECIALS.length)];
      } else if (kind < 256) {
        values[at] = tieOrNot(random);
      }
    }
    return values;
  }

  private List<OneWay> own(ProductKind kind) {
    return ways(kind.type(), kind.precision()).stream().filter(OneWay::isOwn).toList();
  }

  private static MultiplyProblem dense(long[] shape, ProductKind kind, int which) {
    return MultiplyProblem.dense(
            shape[0], shape[1], shape[2], kind.type(), (which & 1) != 0, (which & 2) != 0)
        .withPrecision(kind.precision());
  }

  private static float[] product(OneWay way, MultiplyProblem problem, float[] a, float[] b) {
    float[] c = new float[(int) (problem.bytesC() / Float.BYTES)];
    way.multiply(problem, HostMemory.ofArray(a), HostMemory.ofArray(b), HostMemory.ofArray(c));
    return c;
  }

  private static int inA(MultiplyProblem problem, long i, long p) {
    return (int) (problem.a().transposed() ? p * problem.m() + i : i * problem.k() + p);
  }

  private static int inB(MultiplyProblem problem, long p, long j) {
    return (int) (problem.b().transposed() ? j * problem.k() + p : p * problem.n() + j);
  }
}
