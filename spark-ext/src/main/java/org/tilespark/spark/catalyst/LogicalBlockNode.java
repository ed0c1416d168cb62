package org.tilespark.spark.catalyst;

import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LeafNode;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.RepartitionOperation;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.storage.StorageLevel;
import org.tilespark.layout.Shape;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/**
 * A logical node. Children, product methods, equality and copies follow from the list of its
 * fields.
 *
 * <p>A subclass is public and has a public constructor that takes the fields in their order:
 * Catalyst copies by reflection.
 */
public abstract class LogicalBlockNode extends LogicalPlan {
  private transient List<Object> fieldList; // fields as a list, made at need
  private transient Seq<LogicalPlan> children; // plans among the fields, made at need

  /**
   * The arguments of the subclass's constructor in their order. Plans and sequences of plans are
   * the children.
   */
  protected abstract List<Object> fields();

  /** True if the node performs few operations per byte that it reads. */
  public boolean costsLittle() {
    return true;
  }

  /**
   * True if the node's physical plan contains exchanges other than those that it requires of its
   * children's rows.
   */
  public boolean holdsExchanges() {
    return false;
  }

  /**
   * True if the places, sizes and further columns of the node's blocks can be read without the
   * values.
   */
  public boolean coordinatesAreCheap() {
    return false;
  }

  /**
   * True if the places, sizes and further columns of the plan's blocks can be read without the
   * values.
   */
  public static boolean coordinatesAreCheap(LogicalPlan plan) {
    if (plan instanceof LogicalBlockNode node) {
      return node.coordinatesAreCheap();
    }
    if (plan instanceof LogicalRDD rows) {
      return rows.rdd().isCheckpointed()
          || !rows.rdd().getStorageLevel().equals(StorageLevel.NONE());
    }
    boolean passesThrough =
        plan instanceof LeafNode
            || plan instanceof Union
            || plan instanceof RepartitionOperation
            || (plan instanceof Project && plan.deterministic())
            || (plan instanceof Filter && plan.deterministic());
    return passesThrough
        && ScalaInterop.<LogicalPlan>list(plan.children()).stream()
            .allMatch(LogicalBlockNode::coordinatesAreCheap);
  }

  /**
   * True if the node's blocks are exactly the cells of the tiling that their metadata state
   * (otherwise the query fails), so that no operator need check them again.
   */
  public boolean givesAllCells() {
    return false;
  }

  /**
   * The extents of an array that the node's blocks cover exactly once (otherwise the query fails).
   */
  public Optional<Shape> coveredArray() {
    return Optional.empty();
  }

  /**
   * True if the plan's blocks cover an array of these extents exactly once (otherwise the query
   * fails).
   */
  public static boolean covers(LogicalPlan plan, Shape extents) {
    if (plan instanceof LogicalBlockNode node) {
      return node.coveredArray().filter(extents::equals).isPresent();
    }
    return plan instanceof Project project && covers(project.child(), extents);
  }

  private List<Object> fieldList() {
    if (fieldList == null) {
      fieldList = fields();
    }
    return fieldList;
  }

  @Override
  public final Seq<LogicalPlan> children() {
    if (children == null) {
      children = ScalaInterop.seq(NodeFields.children(fieldList(), LogicalPlan.class));
    }
    return children;
  }

  @Override
  public final LogicalPlan withNewChildrenInternal(IndexedSeq<LogicalPlan> newChildren) {
    return (LogicalPlan)
        makeCopy(
            NodeFields.with(
                fieldList(),
                LogicalPlan.class,
                ScalaInterop.<LogicalPlan>list(newChildren).iterator()));
  }

  /** All output columns that no child has. */
  @Override
  public final AttributeSet producedAttributes() {
    AttributeSet inputs = inputSet();
    return outputSet().filter(ScalaInterop.function(column -> !inputs.contains(column)));
  }

  @Override
  public final int productArity() {
    return fieldList().size();
  }

  @Override
  public final Object productElement(int n) {
    return fieldList().get(n);
  }

  @Override
  public final boolean canEqual(Object that) {
    return that != null && that.getClass() == getClass();
  }

  @Override
  public final boolean equals(Object o) {
    return o instanceof LogicalBlockNode that
        && canEqual(that)
        && fieldList().equals(that.fieldList());
  }

  @Override
  public final int hashCode() {
    return Objects.hash(getClass().getName(), fieldList());
  }
}
