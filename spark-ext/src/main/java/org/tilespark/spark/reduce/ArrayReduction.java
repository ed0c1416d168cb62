package org.tilespark.spark.reduce;

import static org.tilespark.kernels.reduce.BaseReduction.MAXIMUM;
import static org.tilespark.kernels.reduce.BaseReduction.MINIMUM;
import static org.tilespark.kernels.reduce.BaseReduction.MOMENTS;

import java.util.List;
import org.tilespark.kernels.reduce.BaseReduction;
import org.tilespark.spark.reduce.Formula.Complex;
import org.tilespark.spark.reduce.Formula.Result;

/**
 * All reductions, named as numpy's functions: with a description, a formula, and the result of an
 * example, along the rows (1, 5, 2) and (7, 0, 3).
 */
public enum ArrayReduction {
  /** The sum. */
  SUM(
      "The sum of the elements",
      Formula.of(BaseReduction.SUM, "v").giving("r0", Result.SUM).taking(Complex.BY_PARTS),
      "8.0",
      "10.0"),
  /** The mean. */
  MEAN(
      "The mean of the elements",
      Formula.of(BaseReduction.SUM, "CAST(v AS DOUBLE)")
          .giving("r0 / n", Result.FRACTION)
          .taking(Complex.BY_PARTS),
      "2.6666666666666665",
      "3.3333333333333335"),
  /** The least element. */
  MIN("The least element; NaN if there is one", Formula.of(MINIMUM, "v"), "1.0", "0.0"),
  /** The greatest element. */
  MAX("The greatest element; NaN if there is one", Formula.of(MAXIMUM, "v"), "5.0", "7.0"),
  /** The range of the elements, greatest less least. */
  PTP(
      "The greatest element less the least; NaN if there is one; not of truth values",
      Formula.of(MAXIMUM, "v").and(MINIMUM, "v").giving("r0 - r1", Result.SAME).ofNumbers(),
      "4.0",
      "7.0"),
  /** The place of the least element. */
  ARGMIN(
      "The place of the least element, the first of several, or of the first NaN, counted from 0",
      Formula.of(BaseReduction.ARGMIN, "v").giving("r1", Result.COUNT),
      "0",
      "1"),
  /** The place of the greatest element. */
  ARGMAX(
      "The place of the greatest element, the first of several, or of the first NaN, counted from"
          + " 0",
      Formula.of(BaseReduction.ARGMAX, "v").giving("r1", Result.COUNT),
      "1",
      "0"),
  /** The variance. */
  VAR(
      "The variance of the elements; of complex ones, that of both parts together",
      Formula.of(MOMENTS, "CAST(v AS DOUBLE)")
          .giving("r2 / greatest(n - ddof, 0)", Result.SIZE)
          .taking(Complex.ADDED),
      "2.8888888888888893",
      "8.222222222222221"),
  /** The standard deviation. */
  STD(
      "The standard deviation of the elements; of complex ones, that of both parts together",
      Formula.of(MOMENTS, "CAST(v AS DOUBLE)")
          .giving("sqrt(r2 / greatest(n - ddof, 0))", Result.SIZE)
          .taking(Complex.ADDED),
      "1.699673171197595",
      "2.8674417556808756"),
  /** The number of elements that are not zero. */
  COUNT_NONZERO(
      "How many elements are not zero; NaN is not",
      Formula.of(BaseReduction.SUM, "v <> 0").giving("r0", Result.COUNT).taking(Complex.TAKEN),
      "3",
      "2"),
  /** True if an element is not zero. */
  ANY(
      "Whether an element is not zero: TINYINT 0 or 1; NaN is not",
      Formula.of(MAXIMUM, "v <> 0").giving("r0 <> 0", Result.TRUTH).taking(Complex.TAKEN),
      "1",
      "1"),
  /** True if no element is zero. */
  ALL(
      "Whether no element is zero: TINYINT 0 or 1; NaN is not",
      Formula.of(MINIMUM, "v <> 0").giving("r0 <> 0", Result.TRUTH).taking(Complex.TAKEN),
      "1",
      "0"),
  /** The sum of the elements that are not NaN. */
  NANSUM(
      "The sum of the elements that are not NaN",
      Formula.of(BaseReduction.SUM, "if(isnan(whole), 0, v)")
          .giving("r0", Result.SUM)
          .taking(Complex.BY_PARTS),
      "8.0",
      "10.0"),
  /** The mean of the elements that are not NaN. */
  NANMEAN(
      "The mean of the elements that are not NaN; NaN if there is none",
      Formula.of(BaseReduction.SUM, "CAST(if(isnan(whole), 0, v) AS DOUBLE)")
          .and(BaseReduction.SUM, "NOT isnan(whole)")
          .giving("r0 / r1", Result.FRACTION)
          .taking(Complex.BY_PARTS),
      "2.6666666666666665",
      "3.3333333333333335");

  private final String doc;
  private final Formula formula;
  private final List<String> example;

  ArrayReduction(String doc, Formula formula, String first, String second) {
    this.doc = doc;
    this.formula = formula;
    this.example = List.of(first, second);
  }

  /** The description of the result, a phrase for the docs. */
  public String doc() {
    return doc;
  }

  /** The results along the rows (1, 5, 2) and (7, 0, 3) of DOUBLE, as Spark prints them. */
  public List<String> example() {
    return example;
  }

  Formula formula() {
    return formula;
  }
}
