package org.tilespark.kernels.multiply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.DoubleSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.tilespark.kernels.multiply.MultiplierChecks.Inputs;
import org.tilespark.kernels.multiply.SplitArithmetic.Term;

/**
 * Faults that the tests of the split path on a device would notice: terms that are left out, in
 * exact products and in errors of random ones, by the arithmetic of {@link SplitArithmetic}.
 */
class SplitArithmeticTest {
  private static final Set<Term> NONE = EnumSet.noneOf(Term.class);

  @Test
  void threePartsReachEveryValue() {
    SplittableRandom random = new SplittableRandom(1);
    for (int round = 0; round < 1_000_000; round++) {
      float value = Float.intBitsToFloat(random.nextInt());
      if (SplitArithmetic.hasNoParts(value)) {
        continue;
      }
      float[] parts = SplitArithmetic.cut(value);
      assertEquals(value, parts[0] + (parts[1] + parts[2]), () -> "parts of " + value);
      assertTrue(Math.abs(parts[1]) <= 0x1p-8f * Math.abs(parts[0]), () -> "parts of " + value);
      assertTrue(Math.abs(parts[2]) <= 0x1p-8f * Math.abs(parts[1]), () -> "parts of " + value);
      for (float part : parts) {
        assertTrue(part == 0 || Math.abs(part) >= Float.MIN_NORMAL, () -> "parts of " + value);
      }
    }
  }

  /** The last values that have parts, and their neighbours, which the kernel leaves alone. */
  @Test
  void valuesWithoutParts() {
    float least = SplitArithmetic.LEAST;
    float most = Math.nextDown(0x1.ffp127f); // what rounds to the next bfloat16 is infinite
    for (float value : new float[] {0, -0f, least, -least, 1, most, -most}) {
      assertTrue(!SplitArithmetic.hasNoParts(value), "parts of " + value);
    }
    for (float value :
        new float[] {
          Math.nextDown(least),
          -Math.nextDown(least),
          Float.MIN_VALUE,
          Math.nextUp(most),
          Float.MAX_VALUE,
          -Float.MAX_VALUE,
          Float.POSITIVE_INFINITY,
          Float.NaN
        }) {
      assertTrue(SplitArithmetic.hasNoParts(value), "parts of " + value);
    }
  }

  /** Each term that is left out makes most elements wrong; with all of them, all are right. */
  @ParameterizedTest
  @EnumSource(ExactSplits.class)
  void exactProductsNeedTheirTerms(ExactSplits kind) {
    for (int[] shape : new int[][] {{9, 64, 11}, {7, 257, 8}, {5, 2048, 6}}) {
      int m = shape[0];
      int k = shape[1];
      int n = shape[2];
      ExactSplits.Matrices matrices = kind.matrices(m, k, n, 3);
      assertEquals(0, wrong(matrices, m, k, n, NONE), kind + ", K = " + k);
      for (Term term : Term.values()) {
        int wrong = wrong(matrices, m, k, n, EnumSet.of(term));
        assertTrue(
            kind.needs(term) ? wrong > m * n / 2 : wrong == 0,
            kind + ", K = " + k + ": without " + term + " " + wrong + " elements are wrong");
      }
    }
  }

  @Test
  void everyTermIsNeededByAnExactProduct() {
    for (Term term : Term.values()) {
      assertTrue(
          Arrays.stream(ExactSplits.values()).anyMatch(kind -> kind.needs(term)), term::name);
    }
  }

  private static int wrong(ExactSplits.Matrices of, int m, int k, int n, Set<Term> omitted) {
    int wrong = 0;
    for (int i = 0; i < m; i++) {
      float[][] row = SplitArithmetic.cut(Arrays.copyOfRange(of.a(), i * k, i * k + k));
      for (int j = 0; j < n; j++) {
        float[] column = new float[k];
        for (int p = 0; p < k; p++) {
          column[p] = of.b()[p * n + j];
        }
        float found = SplitArithmetic.sum(row, SplitArithmetic.cut(column), omitted);
        wrong += found == of.c()[i * n + j] ? 0 : 1;
      }
    }
    return wrong;
  }

  /** The bar holds with all terms, and any term that is left out breaks it. */
  @ParameterizedTest
  @EnumSource(Inputs.class)
  void barIsAboveErrorsAndBelowThoseWithoutATerm(Inputs inputs) {
    for (int k : new int[] {64, 256, 300}) {
      double allowed = SplitArithmetic.allowed(k, inputs);
      Errors errors = new Errors(20, k, inputs, 4);
      double worst = errors.worst(NONE);
      assertTrue(worst <= 0.7 * allowed, k + ": " + worst + " of " + allowed);
      for (Term term : Term.values()) {
        double without = errors.worst(EnumSet.of(term));
        assertTrue(
            without >= 1.4 * allowed, k + " without " + term + ": " + without + " of " + allowed);
      }
    }
  }

  /**
   * Longer sums hide more of a term that is left out, but not of any three. (Of one constant, terms
   * may cancel.)
   */
  @ParameterizedTest
  @EnumSource(value = Inputs.class, mode = EnumSource.Mode.EXCLUDE, names = "CONSTANT")
  void barIsBelowErrorsWithoutThreeTerms(Inputs inputs) {
    for (int k : new int[] {256, 1024}) {
      double allowed = SplitArithmetic.allowed(k, inputs);
      Errors errors = new Errors(16, k, inputs, 5);
      for (Set<Term> three : threes()) {
        double without = errors.worst(three);
        assertTrue(
            without >= 1.4 * allowed, k + " without " + three + ": " + without + " of " + allowed);
      }
    }
  }

  private static List<Set<Term>> threes() {
    List<Set<Term>> threes = new ArrayList<>();
    for (int bits = 0; bits < 1 << Term.values().length; bits++) {
      Set<Term> terms = EnumSet.noneOf(Term.class);
      for (Term term : Term.values()) {
        if ((bits >> term.ordinal() & 1) != 0) {
          terms.add(term);
        }
      }
      if (terms.size() == 3) {
        threes.add(terms);
      }
    }
    assertEquals(20, threes.size());
    return threes;
  }

  /** Random rows and columns, and the exact products of each with each. */
  private static final class Errors {
    private final float[][][] rows;
    private final float[][][] columns;
    private final double[] exact;
    private final double[] magnitudes;

    Errors(int extent, int k, Inputs inputs, long seed) {
      DoubleSupplier source = inputs.source(new SplittableRandom(seed));
      float[][] a = values(extent, k, source);
      float[][] b = values(extent, k, source);
      rows = cut(a);
      columns = cut(b);
      exact = new double[extent * extent];
      magnitudes = new double[extent * extent];
      for (int at = 0; at < exact.length; at++) {
        for (int p = 0; p < k; p++) {
          double term = (double) a[at / extent][p] * b[at % extent][p];
          exact[at] += term;
          magnitudes[at] += Math.abs(term);
        }
      }
    }

    private static float[][] values(int extent, int k, DoubleSupplier source) {
      float[][] values = new float[extent][k];
      for (float[] line : values) {
        for (int p = 0; p < k; p++) {
          line[p] = (float) source.getAsDouble();
        }
      }
      return values;
    }

    private static float[][][] cut(float[][] values) {
      return Arrays.stream(values).map(SplitArithmetic::cut).toArray(float[][][]::new);
    }

    double worst(Set<Term> omitted) {
      double worst = 0;
      for (int at = 0; at < exact.length; at++) {
        float found =
            SplitArithmetic.sum(rows[at / rows.length], columns[at % rows.length], omitted);
        worst = Math.max(worst, Math.abs(found - exact[at]) / magnitudes[at]);
      }
      return worst;
    }
  }
}
