package org.tilespark.spark.functions;

import java.util.List;
import java.util.function.Function;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ExpressionInfo;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.BlockKind;
import org.tilespark.spark.interop.ScalaInterop;
import org.tilespark.spark.plans.BlockPlans;
import scala.Tuple3;

/** The SQL table functions: name, signature, meaning and plan, in one table. */
@SuppressWarnings("ImmutableEnumChecker") // its lists are List.of, its functions stateless
public enum TableFunctions {
  MATRIX_TRANSPOSE(
      "matrix_transpose",
      "matrix_transpose(TABLE(m) [, extents])",
      "Transposes a matrix of blocks: (row, col, rows, cols, values) of the result are the blocks"
          + " of the transposed matrix. Further columns are carried through.",
      List.of("input", "extents"),
      arguments ->
          BlockPlans.permute(
              BlockPlans.withExtents(
                  arguments.table("input"),
                  BlockKind.MATRIX,
                  arguments.optionalText("extents"),
                  "matrix_transpose"),
              BlockKind.MATRIX,
              Permutation.of(1, 0),
              "matrix_transpose")),

  VOLUME_PERMUTE(
      "volume_permute",
      "volume_permute(TABLE(v), axes [, extents])",
      "Reorders the axes of a volume of blocks: with axes 'yzx' the result is Y(j,k,i) = X(i,j,k)."
          + " Further columns are carried through.",
      List.of("input", "axes", "extents"),
      arguments ->
          BlockPlans.permute(
              BlockPlans.withExtents(
                  arguments.table("input"),
                  BlockKind.VOLUME,
                  arguments.optionalText("extents"),
                  "volume_permute"),
              BlockKind.VOLUME,
              Permutation.parse(arguments.text("axes")),
              "volume_permute"));

  private final String sqlName;
  private final String usage;
  private final String doc;
  private final List<String> parameters;
  private final Function<Arguments, LogicalPlan> plan;

  TableFunctions(
      String sqlName,
      String usage,
      String doc,
      List<String> parameters,
      Function<Arguments, LogicalPlan> plan) {
    this.sqlName = sqlName;
    this.usage = usage;
    this.doc = doc;
    this.parameters = parameters;
    this.plan = plan;
  }

  /** The name in SQL. */
  public String sqlName() {
    return sqlName;
  }

  /** Registers this function with a session's extensions. */
  public void inject(SparkSessionExtensions extensions) {
    extensions.injectTableFunction(
        new Tuple3<>(
            new FunctionIdentifier(sqlName),
            new ExpressionInfo(
                TableFunctions.class.getName(),
                null,
                sqlName,
                usage + " - " + doc,
                "",
                "",
                "",
                "table_funcs",
                "",
                "",
                "scala_udf"),
            ScalaInterop.function(this::build)));
  }

  private LogicalPlan build(scala.collection.immutable.Seq<Expression> expressions) {
    return plan.apply(new Arguments(usage, parameters, ScalaInterop.list(expressions)));
  }
}
