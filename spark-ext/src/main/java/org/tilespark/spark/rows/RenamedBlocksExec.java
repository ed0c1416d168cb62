package org.tilespark.spark.rows;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.execution.ProjectExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.tilespark.spark.catalyst.PhysicalBlockNode;
import org.tilespark.spark.catalyst.ScalaInterop;
import scala.collection.immutable.Seq;

/**
 * Gives its child's columns other names, ids or metadata: rows and batches pass unchanged, while
 * Spark's projection would copy each row.
 */
public final class RenamedBlocksExec extends PhysicalBlockNode {
  private final Seq<Attribute> output;
  private final Partitioning partitioning;
  private final Seq<SortOrder> ordering;
  private final SparkPlan child;

  /**
   * A node over a child.
   *
   * @param output the child's columns in their order, with their new names
   * @param partitioning partitioning in terms of the output
   * @param ordering ordering in terms of the output
   */
  public RenamedBlocksExec(
      Seq<Attribute> output, Partitioning partitioning, Seq<SortOrder> ordering, SparkPlan child) {
    this.output = output;
    this.partitioning = partitioning;
    this.ordering = ordering;
    this.child = child;
  }

  /**
   * The node that replaces a projection which only picks and renames columns. Its output has the
   * child's order, not the projection's, and also columns that were not picked: for parents that
   * look up columns by id.
   *
   * @param child child of the projection, or a plan that gives the same columns
   * @return empty if the projection computes a column, gives one twice, or uses an id that the
   *     child has for another column
   */
  static Optional<RenamedBlocksExec> of(ProjectExec project, SparkPlan child) {
    Map<ExprId, Attribute> names = new HashMap<>();
    for (NamedExpression given : ScalaInterop.<NamedExpression>list(project.projectList())) {
      Expression from = given instanceof Alias alias ? alias.child() : (Expression) given;
      if (!(from instanceof Attribute column)
          || names.put(column.exprId(), given.toAttribute()) != null) {
        return Optional.empty();
      }
    }
    List<Attribute> columns = ScalaInterop.list(child.output());
    List<Attribute> output =
        columns.stream().map(each -> names.getOrDefault(each.exprId(), each)).toList();
    Set<ExprId> ids = output.stream().map(Attribute::exprId).collect(Collectors.toSet());
    boolean isClear =
        ids.size() == output.size()
            && names.values().stream().allMatch(each -> ids.contains(each.exprId()));
    return isClear
        ? Optional.of(
            new RenamedBlocksExec(
                ScalaInterop.seq(output),
                project.outputPartitioning(),
                project.outputOrdering(),
                child))
        : Optional.empty();
  }

  @Override
  public Seq<Attribute> output() {
    return output;
  }

  /** The projection's partitioning, with which the surrounding plan was made. */
  @Override
  public Partitioning outputPartitioning() {
    return partitioning;
  }

  @Override
  public Seq<SortOrder> outputOrdering() {
    return ordering;
  }

  @Override
  public boolean supportsColumnar() {
    return child.supportsColumnar();
  }

  @Override
  public boolean supportsRowBased() {
    return child.supportsRowBased();
  }

  @Override
  public RDD<InternalRow> doExecute() {
    return child.execute();
  }

  @Override
  public RDD<ColumnarBatch> doExecuteColumnar() {
    return child.executeColumnar();
  }

  @Override
  protected List<Object> fields() {
    return List.of(output, partitioning, ordering, child);
  }
}
