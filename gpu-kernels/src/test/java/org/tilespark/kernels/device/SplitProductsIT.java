package org.tilespark.kernels.device;

import static org.junit.jupiter.api.Assertions.fail;

import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.multiply.ExactSplits;
import org.tilespark.kernels.multiply.MultiplyProblem;
import org.tilespark.kernels.multiply.SplitArithmetic;
import org.tilespark.kernels.multiply.SplitArithmetic.Term;
import org.tilespark.layout.ElementType;

/**
 * Products of floats that are cut into three parts: each product of parts is made, and errors are
 * no larger than the device's. {@code SplitArithmeticTest} shows on the CPU that these cases and
 * bars notice any product of parts that is left out.
 */
@RequiresGpu
class SplitProductsIT extends MultiplyWays {
  /** Whole tiles and panels; ragged ones; many tiles; parts of K; two chunks of K. */
  private static final int[][] SHAPES = {
    {128, 64, 128}, {131, 257, 130}, {300, 96, 519}, {140, 2048, 150}, {33, 8500, 17}
  };

  private OneWay way() {
    Assumptions.assumeTrue(split().isPresent(), "this device has no kernel that splits floats");
    return split().orElseThrow();
  }

  /** Nothing may differ, in any storage, from even and uneven starts. */
  @Test
  void exactProductsThatNeedEveryPart() {
    OneWay way = way();
    long seed = 41;
    for (ExactSplits kind : ExactSplits.values()) {
      for (int[] shape : SHAPES) {
        ExactSplits.Matrices matrices = kind.matrices(shape[0], shape[1], shape[2], seed++);
        for (int which = 0; which < 4; which++) {
          for (int shift : new int[] {0, 3}) {
            checkExact(way.at(shift), kind, matrices, shape, which);
          }
        }
      }
    }
  }

  private void checkExact(
      OneWay way, ExactSplits kind, ExactSplits.Matrices matrices, int[] shape, int which) {
    int m = shape[0];
    int k = shape[1];
    int n = shape[2];
    boolean transposeA = (which & 1) != 0;
    boolean transposeB = (which & 2) != 0;
    MultiplyProblem problem =
        MultiplyProblem.dense(m, k, n, ElementType.FLOAT32, transposeA, transposeB);
    float[] a = transposeA ? transposed(matrices.a(), m, k) : matrices.a();
    float[] b = transposeB ? transposed(matrices.b(), k, n) : matrices.b();
    float[] c = new float[m * n];
    way.multiply(problem, HostMemory.ofArray(a), HostMemory.ofArray(b), HostMemory.ofArray(c));
    int wrong = 0;
    int first = -1;
    for (int at = 0; at < c.length; at++) {
      if (c[at] != matrices.c()[at]) {
        wrong++;
        first = first < 0 ? at : first;
      }
    }
    if (wrong > 0) {
      fail(
          String.format(
              "%s of %s, %s: %d of %d elements are wrong; C[%d, %d] is %s, expected %s; %s",
              way,
              problem,
              kind,
              wrong,
              c.length,
              first / n,
              first % n,
              c[first],
              matrices.c()[first],
              explain(matrices, k, n, first, c[first])));
    }
  }

  /** The terms without which the element would be what was found. */
  private static String explain(ExactSplits.Matrices matrices, int k, int n, int at, float found) {
    float[] row = Arrays.copyOfRange(matrices.a(), at / n * k, (at / n + 1) * k);
    float[] column = new float[k];
    for (int p = 0; p < k; p++) {
      column[p] = matrices.b()[p * n + at % n];
    }
    List<Term> terms =
        Arrays.stream(Term.values())
            .filter(term -> SplitArithmetic.sum(row, column, EnumSet.of(term)) == found)
            .toList();
    return terms.isEmpty() ? "no single term explains it" : "as without one of " + terms;
  }

  private static float[] transposed(float[] matrix, int rows, int cols) {
    float[] transposed = new float[matrix.length];
    for (int at = 0; at < matrix.length; at++) {
      transposed[at % cols * rows + at / cols] = matrix[at];
    }
    return transposed;
  }

  /** Errors of random inputs, in every storage, with fixed seeds. */
  @Test
  void errorsAreAsMeasured() {
    OneWay way = way();
    SplittableRandom random = new SplittableRandom(42);
    for (Inputs inputs : Inputs.values()) {
      for (int[] shape :
          // The last has enough tiles that K is not cut: sums of parts are rounded once more.
          new int[][] {{128, 64, 128}, {130, 256, 140}, {260, 300, 131}, {1100, 1024, 1030}}) {
        double allowed = SplitArithmetic.allowed(shape[1], inputs);
        double[] worst = new double[4];
        for (int which = 0; which < 4; which++) {
          MultiplyProblem problem =
              MultiplyProblem.dense(
                  shape[0],
                  shape[1],
                  shape[2],
                  ElementType.FLOAT32,
                  (which & 1) != 0,
                  (which & 2) != 0);
          worst[which] =
              checkOne(
                  which % 2 == 0 ? way.at(0) : way, problem, inputs, random.nextLong(), allowed);
        }
        System.out.printf(
            "split, K = %d, %s: errors NN, TN, NT, TT of %s u, allowed %.2f%n",
            shape[1],
            inputs,
            Arrays.stream(worst)
                .mapToObj(error -> String.format("%.2f", error * 0x1p24))
                .collect(Collectors.joining(", ")),
            allowed * 0x1p24);
      }
    }
  }

  /**
   * Operands whose parts' products are subnormal or zero: the loss is no more than the six terms'
   * last bits, in addition to the bar.
   */
  @Test
  void operandsOfSmallProducts() {
    OneWay way = way();
    SplittableRandom random = new SplittableRandom(43);
    int m = 130;
    int k = 256;
    int n = 140;
    for (int exponent : new int[] {-50, -60, -64, -70, -99}) { // none is below 2^-100
      for (int which = 0; which < 4; which++) {
        MultiplyProblem problem =
            MultiplyProblem.dense(m, k, n, ElementType.FLOAT32, (which & 1) != 0, (which & 2) != 0);
        float[] a = small(m * k, exponent, random);
        float[] b = small(k * n, exponent, random);
        float[] c = new float[m * n];
        way.at(which % 2 * 3)
            .multiply(problem, HostMemory.ofArray(a), HostMemory.ofArray(b), HostMemory.ofArray(c));
        for (int at = 0; at < c.length; at++) {
          double sum = 0;
          double magnitude = 0;
          for (int p = 0; p < k; p++) {
            double left = a[problem.a().transposed() ? p * m + at / n : at / n * k + p];
            double right = b[problem.b().transposed() ? at % n * k + p : p * n + at % n];
            sum += left * right;
            magnitude += Math.abs(left * right);
          }
          double allowed =
              SplitArithmetic.allowed(k, Inputs.POSITIVE) * magnitude
                  + (double) Term.values().length * k * Float.MIN_VALUE;
          if (!(Math.abs(c[at] - sum) <= allowed)) {
            fail(
                String.format(
                    "%s of %s, operands near 2^%d: element %d is %s, expected %s, allowed %s off",
                    way, problem, exponent, at, c[at], sum, allowed));
          }
        }
      }
    }
  }

  /** Magnitudes from a power of two up to twice that, of both signs. */
  private static float[] small(int count, int exponent, SplittableRandom random) {
    float[] values = new float[count];
    for (int at = 0; at < count; at++) {
      float value = Math.scalb(1 + (float) random.nextInt(1 << 23) * 0x1p-23f, exponent);
      values[at] = random.nextBoolean() ? value : -value;
    }
    return values;
  }
}
