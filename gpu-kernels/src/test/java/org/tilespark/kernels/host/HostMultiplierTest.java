package org.tilespark.kernels.host;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.InTurn;
import org.tilespark.kernels.Sampling;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.multiply.Multiplier;
import org.tilespark.kernels.multiply.MultiplierContract;
import org.tilespark.kernels.multiply.MultiplyProblem;
import org.tilespark.kernels.multiply.MultiplyProblem.Factors;
import org.tilespark.layout.ElementType;

@InTurn
class HostMultiplierTest extends MultiplierContract {
  private final HostMultiplier multiplier = new HostMultiplier();

  @Override
  protected Multiplier multiplier() {
    return multiplier;
  }

  /** The oracle takes seconds for a million. */
  @Override
  protected long longestInner() {
    return Sampling.FULL ? super.longestInner() : 200_000;
  }

  @AfterAll
  void close() {
    multiplier.close();
    multiplier.close();
  }

  /** Also a test of reproducibility: the JVM compiles the kernels meanwhile. */
  @Test
  void severalThreadsShareOne() throws Exception {
    MultiplyProblem problem =
        MultiplyProblem.dense(241, 517, 483, ElementType.FLOAT64, true, false);
    SplittableRandom random = new SplittableRandom(7);
    double[] a = random.doubles(241 * 517).toArray();
    double[] b = random.doubles(517 * 483).toArray();
    double[] expected = product(problem, a, b);
    ExecutorService threads = Executors.newFixedThreadPool(4);
    try {
      List<Future<double[]>> results = new ArrayList<>();
      for (int i = 0; i < 24; i++) {
        results.add(threads.submit(() -> product(problem, a, b)));
      }
      for (Future<double[]> result : results) {
        assertArrayEquals(expected, result.get());
      }
    } finally {
      threads.shutdownNow();
    }
  }

  /**
   * Sums that a device may find infinite or NaN: products and partial sums beyond FLOAT's range.
   */
  @Test
  void sumsOfFloatsOverflowAtTheEndAlone() {
    MultiplyProblem problem =
        MultiplyProblem.dense(1, 3, 2, ElementType.FLOAT32, false, false)
            .withFactors(new MultiplyProblem.Factors(0.5, 0));
    float[] a = {1e30f, 3e38f, -1e30f};
    float[] b = {1e10f, 1e10f, 1, 1, 1e10f, 0}; // columns: 1e40 + 3e38 - 1e40, 1e40 + 3e38
    float[] c = new float[2];
    multiplier.multiply(
        problem, HostMemory.ofArray(a), HostMemory.ofArray(b), HostMemory.ofArray(c));
    assertArrayEquals(new float[] {1.5e38f, Float.POSITIVE_INFINITY}, c);
  }

  /** The half that is made has the bits of the whole, and the other half stays as it is. */
  @Test
  void halfOfAProductHasItsBits() {
    SplittableRandom random = new SplittableRandom(11);
    for (int n : new int[] {1, 5, 33, 170}) {
      for (int k : new int[] {0, 3, 64, 700}) {
        for (Factors factors : List.of(Factors.OVERWRITE, Factors.ADD)) {
          for (boolean transposeA : new boolean[] {false, true}) {
            MultiplyProblem problem =
                MultiplyProblem.dense(n, k, n, ElementType.FLOAT64, transposeA, !transposeA)
                    .withFactors(factors);
            double[] a = random.doubles((long) n * k).toArray();
            double[] half = random.doubles((long) n * n).toArray();
            double[] expected = half.clone();
            HostMemory from = HostMemory.ofArray(a);
            multiplier.multiply(problem, from, from, HostMemory.ofArray(expected));
            for (int i = 0; i < n; i++) {
              System.arraycopy(half, i * n, expected, i * n, i);
            }
            multiplier.multiplyHalf(problem, from, HostMemory.ofArray(half));
            assertArrayEquals(expected, half, problem::toString);
          }
        }
      }
    }
  }

  private double[] product(MultiplyProblem problem, double[] a, double[] b) {
    double[] c = new double[Math.toIntExact(problem.m() * problem.n())];
    multiplier.multiply(
        problem, HostMemory.ofArray(a), HostMemory.ofArray(b), HostMemory.ofArray(c));
    return c;
  }
}
