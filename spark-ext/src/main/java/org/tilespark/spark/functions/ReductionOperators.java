package org.tilespark.spark.functions;

import static org.tilespark.spark.block.BlockKind.MATRIX;
import static org.tilespark.spark.functions.Tables.blocks;
import static org.tilespark.spark.functions.Tables.extents;
import static org.tilespark.spark.options.Parameter.found;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.linalg.FactorPlans;
import org.tilespark.spark.options.Parameter;
import org.tilespark.spark.options.Type;
import org.tilespark.spark.reduce.ArrayReduction;
import org.tilespark.spark.reduce.CovariancePlans;
import org.tilespark.spark.reduce.Norm;
import org.tilespark.spark.reduce.ReductionPlans;
import org.tilespark.spark.reduce.StatisticsPlans;

/** Declarations of operators that make one element of many. */
final class ReductionOperators {
  private static final String MOVES =
      "partial results of blocks; none where blocks are whole along the axes";
  private static final String TELLS =
      " Along axes, blocks of extent 1 along them; over all axes a row for each array, with the"
          + " column value.";

  private static final Parameter<Double> DDOF =
      found(
          "ddof",
          Type.NUMBER,
          "0",
          "what is taken off the count of elements before the division by it, as in numpy");
  private static final Parameter<Norm> ORD =
      found(
          "ord",
          Type.text(Norm::parse),
          "2 along one axis, else fro",
          "numpy's ord: 1, 2 or inf of vectors along one axis; fro, 1 or inf along two; of a matrix"
              + " also 2 (the largest singular value) or nuc (the sum of these)");

  static final Operator TRACE =
      new Operator(
          "(m)",
          "The sum of the elements whose row is their column: a row for each matrix, with the"
              + " column value."
              + Operator.APART,
          MOVES,
          List.of(blocks("a", MATRIX), extents(MATRIX)),
          call -> statistics(call).trace());

  static final Operator DIAG =
      new Operator(
          "(m)",
          "The elements whose row is their column, as a column." + Operator.APART,
          MOVES,
          List.of(blocks("a", MATRIX), extents(MATRIX)),
          call -> statistics(call).diag());

  static final Operator STANDARDIZE =
      new Operator(
          "(m)",
          "The matrix with the mean of each column subtracted, and each column that is not constant"
              + " divided by its standard deviation. Values of FLOAT or DOUBLE."
              + Operator.APART,
          "means and standard deviations",
          List.of(blocks("a", MATRIX), extents(MATRIX)),
          call -> statistics(call).standardize());

  private static final String SQUARES =
      "what matrix_gram moves; of up to 512 columns, in blocks that have all, a square from each"
          + " task";

  static final Operator COV =
      new Operator(
          "(m[, ddof])",
          "The covariances of the columns of a matrix. Values of FLOAT or DOUBLE." + Operator.APART,
          SQUARES,
          List.of(blocks("a", MATRIX), DDOF.otherwise("1"), extents(MATRIX)),
          call -> cov(call));

  static final Operator CORRCOEF =
      new Operator(
          "(m)",
          "The correlations of the columns of a matrix; NaN for a constant column. Values of"
              + " FLOAT or DOUBLE."
              + Operator.APART,
          SQUARES,
          List.of(blocks("a", MATRIX), extents(MATRIX)),
          call ->
              CovariancePlans.correlations(call.blocks(MATRIX), call.operator())
                  .orElseGet(() -> statistics(call).corrcoef()));

  private ReductionOperators() {}

  private static LogicalPlan cov(Call call) {
    double ddof = call.find(DDOF).orElse(1.0);
    return CovariancePlans.covariances(call.blocks(MATRIX), ddof, call.operator())
        .orElseGet(() -> statistics(call).cov(ddof));
  }

  private static StatisticsPlans statistics(Call call) {
    return new StatisticsPlans(call.blocks(MATRIX), call::asDataset, call.operator());
  }

  private static Parameter<List<Integer>> axis(BlockKind kind) {
    String letters = String.join(" or ", kind.offsetColumns());
    return found(
        "axis",
        Type.axes((what, text) -> kind.someAxes(what, text)),
        "over all axes",
        "one or several axes, by letter or number: %s, or 0 and on; -1 is the last axis"
            .formatted(letters));
  }

  /** The declaration of a reduction without arguments of its own. */
  static Operator of(ArrayReduction reduction, BlockKind kind) {
    Parameter<List<Integer>> axis = axis(kind);
    return new Operator(
            "(%s[, axis])".formatted(kind.label().charAt(0)),
            reduction.doc() + "." + TELLS + Operator.APART,
            MOVES,
            List.of(blocks("a", kind), axis, extents(kind)),
            call -> plan(call, reduction, kind, axis, Map.of()))
        .withExamples(examples(kind, reduction.example().get(0), reduction.example().get(1)));
  }

  /** The declaration of a variance or standard deviation. */
  static Operator spread(ArrayReduction reduction, BlockKind kind) {
    Parameter<List<Integer>> axis = axis(kind);
    return new Operator(
            "(%s[, axis[, ddof]])".formatted(kind.label().charAt(0)),
            reduction.doc() + "." + TELLS + Operator.APART,
            MOVES,
            List.of(blocks("a", kind), axis, DDOF, extents(kind)),
            call -> plan(call, reduction, kind, axis, Map.of("ddof", call.find(DDOF).orElse(0.0))))
        .withExamples(examples(kind, reduction.example().get(0), reduction.example().get(1)));
  }

  /** The declaration of a norm. */
  static Operator norm(BlockKind kind) {
    Parameter<List<Integer>> axis = axis(kind);
    return new Operator(
            "(%s[, axis[, ord]])".formatted(kind.label().charAt(0)),
            "The norm of the elements." + TELLS + Operator.APART,
            MOVES,
            List.of(blocks("a", kind), axis, ORD, extents(kind)),
            call -> norm(call, kind, axis))
        .withExamples(examples(kind, "5.477225575051661", "7.615773105863909"));
  }

  private static LogicalPlan norm(Call call, BlockKind kind, Parameter<List<Integer>> axis) {
    Optional<Norm> ord = call.find(ORD);
    ReductionPlans.Call asked = asked(call, kind, axis, Map.of());
    boolean isOfBoth = kind == MATRIX && call.find(axis).map(List::size).orElse(2) == 2;
    boolean isOfSingularValues =
        isOfBoth && ord.filter(norm -> norm == Norm.TWO || norm == Norm.NUCLEAR).isPresent();
    return isOfSingularValues
        ? new FactorPlans(call.blocks(kind), call::asDataset, call.operator())
            .norm(ord.get(), asked)
        : ReductionPlans.norm(call.blocks(kind), ord, asked);
  }

  /**
   * The plan of a reduction. This code is in a method that clients of Connect never call, since
   * they have no plan classes.
   */
  private static Object plan(
      Call call,
      ArrayReduction reduction,
      BlockKind kind,
      Parameter<List<Integer>> axis,
      Map<String, Double> scalars) {
    return ReductionPlans.reduce(call.blocks(kind), reduction, asked(call, kind, axis, scalars));
  }

  private static ReductionPlans.Call asked(
      Call call, BlockKind kind, Parameter<List<Integer>> axis, Map<String, Double> scalars) {
    Optional<List<Integer>> axes = call.find(axis);
    return new ReductionPlans.Call(kind, axes, scalars, call::asDataset, call.operator());
  }

  /** The SQL of an example that reduces the rows (1, 5, 2) and (7, 0, 3), with the two results. */
  private static String examples(BlockKind kind, String first, String second) {
    boolean isMatrix = kind == MATRIX;
    return """
    SELECT * FROM %%s(
      TABLE(SELECT * FROM VALUES (%s, array(1D, 5D, 2D, 7D, 0D, 3D)) AS a(%s, %s, values)),
      axis => %s);
    -- %s\t[%s,%s]
    """
        .formatted(
            isMatrix ? "0L, 0L, 2, 3" : "0L, 0L, 0L, 1, 2, 3",
            String.join(", ", kind.offsetColumns()),
            String.join(", ", kind.sizeColumns()),
            isMatrix ? "1" : "'z'",
            isMatrix ? "0\t0\t2\t1" : "0\t0\t0\t1\t2\t1",
            first,
            second);
  }
}
