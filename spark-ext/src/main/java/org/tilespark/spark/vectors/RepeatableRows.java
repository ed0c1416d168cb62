package org.tilespark.spark.vectors;

import java.util.List;
import java.util.Optional;
import org.apache.spark.rdd.DeterministicLevel;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.BaseEvalPython;
import org.apache.spark.sql.catalyst.plans.logical.DeserializeToObject;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Generate;
import org.apache.spark.sql.catalyst.plans.logical.GlobalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MapElements;
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Range;
import org.apache.spark.sql.catalyst.plans.logical.SerializeFromObject;
import org.apache.spark.sql.catalyst.plans.logical.Sort;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.execution.datasources.v2.FileScan;
import org.apache.spark.storage.StorageLevel;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.rows.BlockScan;

/**
 * Whether a plan gives the same rows in the same order of the same partitions whenever it is run: a
 * place in that order then means the same row in the pass that counts and in the one that gathers,
 * and in two uses of a result. Files, ranges, local and cached rows do, and what works on them row
 * by row; a global sort of rows that are the same ones does, if its columns tell them apart. A
 * shuffle brings rows in no fixed order, and of other nodes it is not known.
 */
final class RepeatableRows {
  /** What a user can do. */
  static final String HELP =
      "state columns that order the rows, as orderBy => 'id', or an id, or persist() the table"
          + " first";

  private RepeatableRows() {}

  /**
   * Why the rows of an optimized plan may come in another order, or be others, when it is run
   * again; empty if they do not.
   */
  static Optional<String> doubt(LogicalPlan plan) {
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

  /** Why the rows of a plan may be others when it is run again, whatever their order. */
  static Optional<String> doubtOfSet(LogicalPlan plan) {
    for (Expression expression : ScalaInterop.<Expression>list(plan.expressions())) {
      if (!expression.deterministic()) {
        return Optional.of(expression.sql() + " gives other values in each run");
      }
    }
    if (plan instanceof InMemoryRelation) {
      return Optional.empty();
    }
    return isLimit(plan) && sort(plan).isEmpty()
        ? Optional.of(plan.nodeName() + " takes any rows")
        : ScalaInterop.<LogicalPlan>list(plan.children()).stream()
            .flatMap(child -> doubtOfSet(child).stream())
            .findFirst();
  }

  /** True for a plan without children whose rows stay as they are. */
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

  /** True if the plan's rows follow from its children's one by one, in their order. */
  private static boolean isRowByRow(LogicalPlan plan) {
    return plan instanceof Project
        || plan instanceof Filter
        || plan instanceof Generate
        || plan instanceof Union
        || plan instanceof DeserializeToObject
        || plan instanceof MapElements
        || plan instanceof SerializeFromObject
        || plan instanceof BaseEvalPython
        || (plan instanceof Sort sort && !sort.global());
  }

  private static boolean isLimit(LogicalPlan plan) {
    return plan instanceof GlobalLimit || plan instanceof LocalLimit;
  }
}
