package org.tilespark.kernels.device;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.HostMemory;
import org.tilespark.kernels.RequiresGpu;
import org.tilespark.kernels.plan.MultiplyProblem;
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
    SplittableRandom random = new SplittableRandom(24);
    for (ElementType type : TYPES) {
      OneWay way = skinny(type, 3);
      for (long small = 1; small <= 17; small++) {
        for (int which = 0; which < 16; which++) {
          boolean transposeA = (which & 1) != 0;
          boolean transposeB = (which & 2) != 0;
          long x = large[random.nextInt(large.length)];
          long y = large[random.nextInt(large.length)];
          long k = depths[random.nextInt(depths.length)];
          boolean dense = random.nextBoolean();
          Inputs inputs = Inputs.values()[which / 4];
          for (long[] shape : new long[][] {{x, k, small}, {small, k, x}, {x, small, y}}) {
            MultiplyProblem problem =
                problem(shape[0], shape[1], shape[2], type, transposeA, transposeB, dense, random);
            checkExact(way, problem, random.nextLong());
            checkOne(way, problem, inputs, random.nextLong());
          }
        }
      }
    }
  }

  /** Long sums along and across the large operand, one thread block's or many. */
  @Test
  void narrowProductsWithALongInnerDimension() {
    SplittableRandom random = new SplittableRandom(25);
    for (ElementType type : TYPES) {
      OneWay way = skinny(type, 3);
      for (Inputs inputs : Inputs.values()) {
        for (int which = 0; which < 4; which++) {
          boolean transposeA = (which & 1) != 0;
          boolean transposeB = (which & 2) != 0;
          long[][] shapes = {{1, 1_000_000, 1}, {16, 1_000_003, 3}, {4, 100_003, 16}};
          for (long[] shape : shapes) {
            MultiplyProblem problem =
                problem(shape[0], shape[1], shape[2], type, transposeA, transposeB, true, random);
            checkOne(way, problem, inputs, random.nextLong());
          }
        }
      }
    }
  }

  /** Where operands begin does not change a bit. */
  @Test
  void narrowProductsHaveTheSameBitsAnywhere() {
    SplittableRandom random = new SplittableRandom(26);
    float[] a = floats(3000 * 1001, random);
    float[] b = floats(1001 * 5, random);
    for (int which = 0; which < 4; which++) {
      MultiplyProblem problem =
          MultiplyProblem.dense(
              3000, 1001, 5, ElementType.FLOAT32, (which & 1) != 0, (which & 2) != 0);
      float[] expected = null;
      for (int shift = 0; shift < 4; shift++) {
        float[] c = new float[3000 * 5];
        skinny(ElementType.FLOAT32, shift)
            .multiply(problem, HostMemory.ofArray(a), HostMemory.ofArray(b), HostMemory.ofArray(c));
        expected = expected == null ? c : expected;
        assertArrayEquals(expected, c, problem + " from element " + shift);
      }
    }
  }
}
