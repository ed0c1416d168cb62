package org.tilespark.spark.reduce;

import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;
import org.tilespark.kernels.reduce.BaseReduction;
import org.tilespark.spark.reduce.Formula.Complex;
import org.tilespark.spark.reduce.Formula.Result;

/**
 * The norms of vectors and matrices, by numpy's {@code ord}. The formulas are of norms along one
 * axis; {@link ReductionPlans#norm} makes the norms of matrices from them.
 */
public enum Norm {
  /** Of a vector the sum of the absolute values, of a matrix the greatest of the columns' sums. */
  ONE(
      "1",
      Formula.of(BaseReduction.SUM, "abs(CAST(v AS DOUBLE))"),
      Formula.of(BaseReduction.SUM, "abs(v)")),
  /**
   * Of a vector the root of the sum of the squares, of a matrix the largest singular value, which
   * no formula gives.
   */
  TWO("2", Constants.SQUARES, Constants.COMPLEX_SQUARES),
  /**
   * Of a vector the greatest absolute value, of a matrix the greatest sum of absolute values of a
   * row.
   */
  INFINITY(
      "inf",
      Formula.of(BaseReduction.MAXIMUM, "abs(CAST(v AS DOUBLE))"),
      Formula.of(BaseReduction.MAXIMUM, "abs(v)")),
  /** The root of the sum of the squares of all elements, along two axes or three. */
  FROBENIUS("fro", Constants.SQUARES, Constants.COMPLEX_SQUARES),
  /** The sum of the singular values of a matrix, which no formula gives; this one is not used. */
  NUCLEAR("nuc", Constants.SQUARES, Constants.COMPLEX_SQUARES);

  private final String ord;
  private final Formula real;
  private final Formula complex;

  /** Formulas that more than one norm has. */
  private static final class Constants {
    static final Formula SQUARES =
        Formula.of(BaseReduction.SUM, "CAST(v AS DOUBLE) * CAST(v AS DOUBLE)")
            .giving("sqrt(r0)", Result.SIZE);
    static final Formula COMPLEX_SQUARES =
        Formula.of(
                BaseReduction.SUM,
                "CAST(real(v) AS DOUBLE) * CAST(real(v) AS DOUBLE)"
                    + " + CAST(imag(v) AS DOUBLE) * CAST(imag(v) AS DOUBLE)")
            .giving("sqrt(r0)", Result.SIZE);
  }

  Norm(String ord, Formula real, Formula complex) {
    this.ord = ord;
    this.real = real.giving(real.finish(), Result.SIZE);
    this.complex = complex.giving(complex.finish(), Result.SIZE).taking(Complex.TAKEN);
  }

  /**
   * The norm that a text names as numpy's {@code ord} does.
   *
   * @param what the parameter, for messages
   * @throws IllegalArgumentException if there is none
   */
  public static Norm parse(String what, String text) {
    String given = text.strip().toLowerCase(Locale.ROOT).replaceFirst("\\.0$", "");
    return Arrays.stream(values())
        .filter(norm -> norm.ord.equals(given.equals("infinity") ? "inf" : given))
        .findAny()
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    "%s is '%s'; expected one of %s"
                        .formatted(
                            what,
                            text,
                            Arrays.stream(values())
                                .map(norm -> norm.ord)
                                .collect(Collectors.joining(", ")))));
  }

  Formula formula(boolean ofComplex) {
    return ofComplex ? complex : real;
  }

  @Override
  public String toString() {
    return ord;
  }
}
