package org.tilespark.kernels.device;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.multiply.MultiplyProblem;
import org.tilespark.layout.ElementType;

/**
 * FLOAT products of tiny operands: the bound of docs/decisions/split-precision-range.md, which
 * rests on tensor cores that keep subnormal sums.
 */
@RequiresGpu
class SplitRangeIT extends MultiplyWays {
  private static final int M = 128;
  private static final int K = 512;
  private static final int N = 128;

  /**
   * Binary exponents of A and B. All values have parts, so that nothing is repaired; products are
   * normal, then subnormal in their parts, then subnormal, then lost.
   */
  private static final int[][] EXPONENTS = {
    {0, 0},
    {-49, -50},
    {-61, -61},
    {-60, -63},
    {-64, -64},
    {-100, -22},
    {-26, -99},
    {-68, -68},
    {-72, -72},
    {-75, -75},
    {-80, -80},
    {-100, -100}
  };

  @Test
  void tinyOperands() {
    SplittableRandom random = new SplittableRandom(61);
    for (OneWay way : ways(ElementType.FLOAT32)) {
      for (int[] exponents : EXPONENTS) {
        for (int which = 0; which < 4; which++) {
          boolean transposeA = (which & 1) != 0;
          boolean transposeB = (which & 2) != 0;
          MultiplyProblem problem =
              MultiplyProblem.dense(M, K, N, ElementType.FLOAT32, transposeA, transposeB);
          if (way.isSkinny()) {
            continue; // it does not take this shape
          }
          assertTrue(way.takes(problem), () -> way + " does not take " + problem);
          float[] a = values(M * K, exponents[0], random);
          float[] b = values(K * N, exponents[1], random);
          float[] c = new float[M * N];
          way.at(0)
              .multiply(
                  problem, HostMemory.ofArray(a), HostMemory.ofArray(b), HostMemory.ofArray(c));
          for (int i = 0; i < M; i++) {
            for (int j = 0; j < N; j++) {
              double sum = 0; // exact but for 2^-53, which the bound has room for
              double size = 0;
              for (int p = 0; p < K; p++) {
                double product =
                    (double) a[transposeA ? p * M + i : i * K + p]
                        * b[transposeB ? j * K + p : p * N + j];
                sum += product;
                size += Math.abs(product);
              }
              double bound = 2 * 0x1p-24 * Math.sqrt(K) * size + 7.0 * K * Float.MIN_VALUE;
              double error = Math.abs(c[i * N + j] - sum);
              if (!(error <= bound)) {
                fail(
                    "%s, exponents %d and %d, element (%d, %d): %s is off by %s; allowed %s"
                        .formatted(
                            way, exponents[0], exponents[1], i, j, c[i * N + j], error, bound));
              }
            }
          }
        }
      }
    }
  }

  /** Of both signs, with all 24 bits, in [2^exponent, 2^(exponent + 1)) in size. */
  private static float[] values(int count, int exponent, SplittableRandom random) {
    float[] values = new float[count];
    for (int i = 0; i < count; i++) {
      float size = Math.scalb(1 + random.nextInt(1 << 23) * 0x1p-23f, exponent);
      values[i] = random.nextBoolean() ? size : -size;
    }
    return values;
  }
}
