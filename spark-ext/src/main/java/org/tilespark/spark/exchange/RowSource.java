package org.tilespark.spark.exchange;

import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LeafNode;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.CarriesColumns;

/**
 * The leaf of a plan that gives at most one row for each row of the leaf.
 *
 * @param columns columns of the leaf from which the requested columns of the plan come
 * @param isWhole true if the plan filters no rows
 */
public record RowSource(LogicalPlan leaf, List<Attribute> columns, boolean isWhole) {
  /** Copies the list. */
  public RowSource {
    columns = List.copyOf(columns);
  }

  /**
   * The leaf of {@code plan}; empty if the plan has no single leaf, or computes one of the columns.
   */
  public static Optional<RowSource> of(LogicalPlan plan, List<Attribute> columns) {
    return of(plan, columns, true);
  }

  private static Optional<RowSource> of(
      LogicalPlan plan, List<Attribute> columns, boolean isWhole) {
    if (plan instanceof Project project) {
      return Attributes.below(project, columns).flatMap(in -> of(project.child(), in, isWhole));
    }
    if (plan instanceof Filter filter) {
      return of(filter.child(), columns, false);
    }
    if (plan instanceof CheckedBlocks checked) {
      return of(checked.blocks(), columns, isWhole);
    }
    if (plan instanceof CarriesColumns node && node.carriesColumns()) {
      List<Attribute> in = columns.stream().map(node::source).flatMap(Optional::stream).toList();
      return in.size() == columns.size() ? of(node.child(), in, isWhole) : Optional.empty();
    }
    return plan instanceof LeafNode
        ? Optional.of(new RowSource(plan, columns, isWhole))
        : Optional.empty();
  }

  /** The names of {@link #columns()}. */
  public List<String> names() {
    return columns.stream().map(Attribute::name).toList();
  }
}
