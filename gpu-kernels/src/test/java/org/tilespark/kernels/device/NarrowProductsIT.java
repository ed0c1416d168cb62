package org.tilespark.kernels.device;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.multiply.MultiplyProblem;
import org.tilespark.kernels.multiply.Precision;
import org.tilespark.kernels.multiply.ProductKind;
import org.tilespark.layout.ElementType;

/** Products with a small extent, by the kernels that are for them. */
@RequiresGpu
class NarrowProductsIT extends MultiplyWays {
  /**
   * Each small extent and its neighbours, on both sides of all limits of a thread block or part.
   */
  @Test
  void narrowProductsByTheirKernels() {
    long[] large = {17, 31, 32, 33, 65, 511, 513, 1025};
    long[] depths = {1, 2, 7, 8, 31, 33, 255, 256, 257, 513, 700, 20_000};
    SplittableRandom random = freshRandom();
    for (ProductKind kind : kinds()) {
      OneWay way = skinny(kind.type(), kind.precision(), 3);
      for (long small = 1; small <= 17; small++) {
        for (int which = 0; which < 16; which++) {
          long x = large[random.nextInt(large.length)];
          long y = large[random.nextInt(large.length)];
          long k = depths[random.nextInt(depths.length)];
          boolean dense = random.nextBoolean();
          for (long[] shape : new long[][] {{x, k, small}, {small, k, x}, {x, small, y}}) {
            MultiplyProblem problem =
                problem(shape, kind.type(), which & 3, dense, random)
                    .withPrecision(kind.precision());
            requireTaken(way, problem);
            if (way.takes(problem)) {
              checkExact(way, problem, random.nextLong());
              check(way, problem, Inputs.values()[which / 4], random.nextLong());
            }
          }
        }
      }
    }
  }

  /** Long sums along and across the large operand, one thread block's or many. */
  @Test
  void narrowProductsWithALongInnerDimension() {
    SplittableRandom random = new SplittableRandom(25);
    for (ProductKind kind : kinds()) {
      OneWay way = skinny(kind.type(), kind.precision(), 3);
      for (Inputs inputs : Inputs.values()) {
        for (int which = 0; which < 4; which++) {
          long[][] shapes = {{1, 1_000_000, 1}, {16, 1_000_003, 3}, {4, 100_003, 16}};
          for (long[] shape : shapes) {
            MultiplyProblem problem =
                problem(shape, kind.type(), which, true, random).withPrecision(kind.precision());
            check(way, problem, inputs, random.nextLong());
          }
        }
      }
    }
  }

  /** Lower precisions have no kernel for a K of 5 to 16. */
  private static void requireTaken(OneWay way, MultiplyProblem problem) {
    boolean isShallow = problem.m() > 16 && problem.n() > 16;
    long most = isShallow && problem.precision() != Precision.FULL ? 4 : 16;
    long least = Math.min(problem.m(), Math.min(problem.k(), problem.n()));
    assertEquals(least <= most, way.takes(problem), () -> way + " takes " + problem);
  }

  /** Those of which the device has kernels. */
  private List<ProductKind> kinds() {
    return Arrays.stream(ProductKind.values()).filter(kind -> hasNarrow(kind.precision())).toList();
  }

  private static SplittableRandom freshRandom() {
    long seed = System.nanoTime();
    System.out.println("narrow products, seed " + seed);
    return new SplittableRandom(seed);
  }

  /** Against the oracle; of lower precisions inputs that float16 can hold. */
  private void check(OneWay way, MultiplyProblem problem, Inputs inputs, long seed) {
    if (problem.precision() == Precision.FULL) {
      checkOne(way, problem, inputs, seed);
    } else {
      checkRounded(way, problem, inputs == Inputs.BADLY_SCALED ? Inputs.SIGNED : inputs, seed);
    }
  }

  /**
   * Values are rounded, to nearest and ties to even, as the host does it, wherever they are read: a
   * product by 1 is the rounded value.
   */
  @Test
  void narrowProductsRoundAsAsked() {
    SplittableRandom random = freshRandom();
    // One step of K alone may be any value: infinity, NaN, and what overflows.
    long[][] shapes = {
      {600, 40, 3}, {3, 40, 600}, {600, 3, 700}, {600, 1, 3}, {3, 1, 600}, {600, 1, 700}
    };
    for (Precision precision : List.of(Precision.TF32, Precision.BFLOAT16, Precision.FLOAT16)) {
      for (long[] shape : hasNarrow(precision) ? shapes : new long[0][]) {
        for (int which = 0; which < 4; which++) {
          MultiplyProblem problem =
              MultiplyProblem.dense(
                      shape[0],
                      shape[1],
                      shape[2],
                      ElementType.FLOAT32,
                      (which & 1) != 0,
                      (which & 2) != 0)
                  .withPrecision(precision);
          for (boolean valuesInA : new boolean[] {true, false}) {
            checkRounding(problem, valuesInA, random);
          }
        }
      }
    }
  }

  /** Values of one operand, ones of the other on a diagonal that begins at step 1 of K. */
  private void checkRounding(MultiplyProblem problem, boolean valuesInA, SplittableRandom random) {
    int m = (int) problem.m();
    int k = (int) problem.k();
    int n = (int) problem.n();
    float[] a = new float[m * k];
    float[] b = new float[k * n];
    float[] values = valuesInA ? a : b;
    float[] ones = valuesInA ? b : a;
    for (int at = 0; at < values.length; at++) {
      values[at] = k == 1 ? anyValue(random) : anyNumber(random);
    }
    int across = valuesInA ? n : m;
    for (int x = 0; x < across; x++) {
      int p = (x + 1) % k;
      boolean kFirst = valuesInA ? problem.b().transposed() : !problem.a().transposed();
      ones[kFirst ? x * k + p : p * across + x] = 1;
    }
    float[] c = new float[m * n];
    skinny(problem.type(), problem.precision(), 3)
        .multiply(problem, HostMemory.ofArray(a), HostMemory.ofArray(b), HostMemory.ofArray(c));
    for (int i = 0; i < m; i++) {
      for (int j = 0; j < n; j++) {
        int p = ((valuesInA ? j : i) + 1) % k;
        float value =
            valuesInA
                ? a[problem.a().transposed() ? p * m + i : i * k + p]
                : b[problem.b().transposed() ? j * k + p : p * n + j];
        float expected = problem.precision().round(value) + 0f; // sums are no negative zeros
        assertEquals(expected, c[i * n + j], problem + ", C[" + i + ", " + j + "] from " + value);
      }
    }
  }

  /** Of all bits but those of subnormal numbers. */
  private static float anyValue(SplittableRandom random) {
    float value = Float.intBitsToFloat(random.nextInt());
    return Math.abs(value) < Float.MIN_NORMAL ? 0 : value;
  }

  /** Of all sizes whose sums with zeros are exact, ties among them; none beyond float16. */
  private static float anyNumber(SplittableRandom random) {
    float value = Float.intBitsToFloat(random.nextInt());
    while (!(Math.abs(value) < 0x1p15f && Math.abs(value) > 0x1p-30f)) {
      value = Float.intBitsToFloat(random.nextInt());
    }
    int[] cuts = {0, 12, 15}; // the last bit that is left makes ties of 10 bits, and of 7
    int cut = cuts[random.nextInt(cuts.length)];
    return Float.intBitsToFloat(Float.floatToRawIntBits(value) >> cut << cut);
  }

  /** The address of operands does not change a bit, with rows that begin evenly or not. */
  @Test
  void narrowProductsHaveTheSameBitsAnywhere() {
    SplittableRandom random = new SplittableRandom(26);
    for (int k : new int[] {1000, 1001}) {
      float[] a = floats(3000 * k, random);
      float[] b = floats(k * 5, random);
      for (Precision precision : Precision.values()) {
        for (int which = 0; which < 4; which++) {
          MultiplyProblem problem =
              MultiplyProblem.dense(
                      3000, k, 5, ElementType.FLOAT32, (which & 1) != 0, (which & 2) != 0)
                  .withPrecision(precision);
          float[] expected = null;
          for (int shift = 0; shift < 5; shift++) { // 4 begins evenly as 0 does
            float[] c = new float[3000 * 5];
            skinny(ElementType.FLOAT32, precision, shift)
                .multiply(
                    problem, HostMemory.ofArray(a), HostMemory.ofArray(b), HostMemory.ofArray(c));
            expected = expected == null ? c : expected;
            assertArrayEquals(expected, c, problem + " from element " + shift);
          }
        }
      }
    }
  }
}
