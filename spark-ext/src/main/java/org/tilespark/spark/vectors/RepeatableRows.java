package org.tilespark.spark.vectors;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.rdd.DeterministicLevel;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ExpressionWithRandomSeed;
import org.apache.spark.sql.catalyst.expressions.MonotonicallyIncreasingID;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.UserDefinedExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.Collect;
import org.apache.spark.sql.catalyst.expressions.aggregate.First;
import org.apache.spark.sql.catalyst.expressions.aggregate.Last;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.BaseEvalPython;
import org.apache.spark.sql.catalyst.plans.logical.DeserializeToObject;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Generate;
import org.apache.spark.sql.catalyst.plans.logical.GlobalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MapElements;
import org.apache.spark.sql.catalyst.plans.logical.Offset;
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Range;
import org.apache.spark.sql.catalyst.plans.logical.Sample;
import org.apache.spark.sql.catalyst.plans.logical.SerializeFromObject;
import org.apache.spark.sql.catalyst.plans.logical.Sort;
import org.apache.spark.sql.catalyst.plans.logical.Tail;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.execution.adaptive.LogicalQueryStage;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.execution.datasources.v2.FileScan;
import org.apache.spark.storage.StorageLevel;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.catalyst.UncountedRows;
import org.tilespark.spark.rows.BlockScan;
import scala.collection.immutable.Seq;

/**
 * Decides whether a plan gives the same rows in the same order and partitions in each run: then a
 * row number identifies the same row in the counting and in the gathering pass, and in two uses of
 * a result. This holds for files, ranges, local and cached rows, and for operators that process
 * them row by row; and for a global sort of a fixed set of rows, if its columns distinguish them. A
 * shuffle gives rows in no fixed order, and other nodes are unknown.
 */
final class RepeatableRows {
  /** Advice for the user. */
  static final String HELP =
      "state columns that order the rows, as orderBy => 'id', or an id, or persist() the table"
          + " first";

  private RepeatableRows() {}

  /**
   * Checks the rows of an optimized plan.
   *
   * @param order the columns that order the rows; empty to use the plan's own order
   * @param ids the column of ids, if there is one
   * @throws IllegalArgumentException that says why the rows or their order may change in another
   *     run
   */
  static void require(
      LogicalPlan plan, List<Attribute> order, Optional<Attribute> ids, String operator) {
    List<Expression> columns = new ArrayList<>(order);
    ids.ifPresent(columns::add);
    Optional<String> doubt =
        order.isEmpty()
            ? doubt(plan)
            : doubtOfSet(plan, AttributeSet.apply(ScalaInterop.<Expression>seq(columns)));
    if (doubt.isPresent() && order.isEmpty()) {
      throw noPlaces(doubt.get(), operator);
    } else if (doubt.isPresent()) {
      throw new IllegalArgumentException(
          "%s: the table gives other rows when it is read again: %s; persist() the table first"
              .formatted(operator, doubt.get()));
    }
  }

  /** The error about rows whose order is not fixed. */
  static IllegalArgumentException noPlaces(String doubt, String operator) {
    return new IllegalArgumentException(
        "%s: the rows have no places that stay: %s; %s".formatted(operator, doubt, HELP));
  }

  /**
   * The reason why the rows of an optimized plan or their order may change in another run; empty if
   * they are fixed.
   */
  static Optional<String> doubt(LogicalPlan plan) {
    if (plan instanceof LogicalQueryStage stage) {
      return doubt(stage.logicalPlan());
    }
    List<LogicalPlan> children = ScalaInterop.list(plan.children());
    for (Expression expression : ScalaInterop.<Expression>list(plan.expressions())) {
      if (!expression.deterministic()) {
        return Optional.of(expression.sql() + " gives other values in each run");
      }
    }
    if (isFixed(plan)) {
      return Optional.empty();
    }
    if (isRowByRow(plan)) {
      return children.stream().flatMap(child -> doubt(child).stream()).findFirst();
    }
    return Optional.of("the rows of " + plan.nodeName() + " come in no fixed order");
  }

  /** The global sort that orders all rows of a plan; empty if there is none. */
  static Optional<Sort> sort(LogicalPlan plan) {
    if (plan instanceof Sort sort && sort.global()) {
      return Optional.of(sort);
    }
    return plan instanceof Project || plan instanceof Filter || isLimit(plan)
        ? sort(ScalaInterop.<LogicalPlan>list(plan.children()).get(0))
        : Optional.empty();
  }

  /**
   * The reason why the set of a plan's rows may change in another run; empty if it is fixed.
   *
   * @param columns columns that must be the same in each run; others may differ, for example lists
   *     without a fixed order of elements
   */
  static Optional<String> doubtOfSet(LogicalPlan plan, AttributeSet columns) {
    if (plan instanceof InMemoryRelation) {
      return Optional.empty();
    }
    if (plan instanceof LogicalQueryStage stage) {
      return doubtOfSet(stage.logicalPlan(), columns);
    }
    List<LogicalPlan> children = ScalaInterop.list(plan.children());
    List<Expression> deciding = deciding(plan, columns);
    for (Expression expression : deciding) {
      boolean isSame = expression.deterministic() || (isSeeded(expression) && isFixed(children));
      if (!isSame || takesAny(expression)) {
        return Optional.of(expression.sql() + " gives other values in each run");
      }
    }
    if (isCut(plan) || isLoose(plan)) {
      return Optional.of(plan.nodeName() + " takes any rows");
    }
    AttributeSet read = columns;
    for (Expression expression : deciding) {
      read = read.$plus$plus(expression.references());
    }
    AttributeSet used = read;
    boolean keepsColumns =
        plan instanceof Project
            || plan instanceof Aggregate
            || (!(plan instanceof Union) && plan.outputSet().subsetOf(plan.inputSet()));
    return children.stream()
        .flatMap(child -> doubtOfSet(child, keepsColumns ? used : child.outputSet()).stream())
        .findFirst();
  }

  /** The expressions that determine the set of rows and the values of some of their columns. */
  private static List<Expression> deciding(LogicalPlan plan, AttributeSet columns) {
    if (plan instanceof Project project) {
      return among(project.projectList(), columns);
    }
    if (plan instanceof Aggregate aggregate) {
      List<Expression> all = new ArrayList<>(among(aggregate.aggregateExpressions(), columns));
      all.addAll(ScalaInterop.list(aggregate.groupingExpressions()));
      return all;
    }
    if (isLimit(plan)) {
      return sort(plan).<List<Expression>>map(s -> ScalaInterop.list(s.order())).orElse(List.of());
    }
    return plan instanceof Sort ? List.of() : ScalaInterop.list(plan.expressions());
  }

  private static List<Expression> among(Seq<NamedExpression> list, AttributeSet columns) {
    return ScalaInterop.<NamedExpression>list(list).stream()
        .filter(each -> columns.contains(each.toAttribute()))
        .map(each -> (Expression) each)
        .toList();
  }

  /** True if an expression's values depend only on a row's place in its partition and on a seed. */
  private static boolean isSeeded(Expression expression) {
    List<Expression> children = ScalaInterop.list(expression.children());
    return expression.deterministic()
        || expression instanceof MonotonicallyIncreasingID
        || expression instanceof ExpressionWithRandomSeed
        || (!(expression instanceof UserDefinedExpression)
            && !children.stream().allMatch(Expression::deterministic)
            && children.stream().allMatch(RepeatableRows::isSeeded));
  }

  /** True if an aggregate's result depends on the order of rows. */
  private static boolean takesAny(Expression expression) {
    return expression instanceof First
        || expression instanceof Last
        || expression instanceof Collect<?>
        || ScalaInterop.<Expression>list(expression.children()).stream()
            .anyMatch(RepeatableRows::takesAny);
  }

  private static boolean isFixed(List<LogicalPlan> plans) {
    return plans.stream().allMatch(plan -> doubt(plan).isEmpty());
  }

  /** True for a plan that selects rows of its child by their places, which may change. */
  private static boolean isCut(LogicalPlan plan) {
    if (plan instanceof Sample) {
      return !isFixed(ScalaInterop.list(plan.children()));
    }
    return (isLimit(plan) || plan instanceof Offset || plan instanceof Tail)
        && sort(plan).isEmpty();
  }

  /** True for rows of an RDD that may differ in each run. */
  private static boolean isLoose(LogicalPlan plan) {
    return plan instanceof LogicalRDD rows
        && !isFixed(rows)
        && rows.rdd().outputDeterministicLevel().equals(DeterministicLevel.INDETERMINATE());
  }

  /** True for a plan without children whose rows are fixed. */
  private static boolean isFixed(LogicalPlan plan) {
    if (plan instanceof LogicalRDD rows) {
      return !rows.rdd().getStorageLevel().equals(StorageLevel.NONE())
          || rows.rdd().isCheckpointed()
          || rows.rdd().outputDeterministicLevel().equals(DeterministicLevel.DETERMINATE());
    }
    return plan instanceof Range
        || plan instanceof LocalRelation
        || plan instanceof OneRowRelation
        || plan instanceof InMemoryRelation
        || (plan instanceof LogicalRelation files && files.relation() instanceof HadoopFsRelation)
        || plan.nodeName().startsWith("HiveTableRelation")
        || (plan instanceof DataSourceV2ScanRelation source
            && (source.scan() instanceof FileScan || source.scan() instanceof BlockScan));
  }

  /** True if the plan computes its rows from its children's rows one by one, in order. */
  private static boolean isRowByRow(LogicalPlan plan) {
    return plan instanceof Project
        || plan instanceof Filter
        || plan instanceof Generate
        || plan instanceof Union
        || plan instanceof DeserializeToObject
        || plan instanceof MapElements
        || plan instanceof SerializeFromObject
        || plan instanceof BaseEvalPython
        || plan instanceof UncountedRows
        || (plan instanceof Sort sort && !sort.global());
  }

  private static boolean isLimit(LogicalPlan plan) {
    return plan instanceof GlobalLimit || plan instanceof LocalLimit;
  }
}
