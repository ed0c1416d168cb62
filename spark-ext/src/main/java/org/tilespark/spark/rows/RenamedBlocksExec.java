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
 * Gives its child's columns other names, ids or metadata: rows and batches pass as they are, where
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
   * @param output the child's columns in their order, under what they are called here
   * @param partitioning partitioning in terms of those
   * @param ordering the same
   */
  public RenamedBlocksExec(
      Seq<Attribute> output, Partitioning partitioning, Seq<SortOrder> ordering, SparkPlan child) {
    this.output = output;
    this.partitioning = partitioning;
    this.ordering = ordering;
    this.child = child;
  }

  /**
   * The node in place of a projection that only picks columns, and may give them other names. Its
   * output has the child's order, not the projection's, and also columns that were not picked: for
   * parents that look for what they read by ids.
   *
   * @param child child of the projection, or a plan that gives the same columns
   * @return empty if the projection computes, or gives a column twice, or an id that the child has
   *     for another
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

  /** The projection's partitioning: the plan around was made with it. */
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
