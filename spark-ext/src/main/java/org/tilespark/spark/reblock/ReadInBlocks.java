package org.tilespark.spark.reblock;

import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.tilespark.spark.block.StoredInBlocks;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.NodeFields;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.exchange.AssembleBlocks;
import org.tilespark.spark.exchange.CutBlocks;

/**
 * Replaces a re-block directly above a stored array by reading the array in the target blocks, if
 * the source reads these as fast: then no block is cut, exchanged and assembled.
 *
 * <p>The re-block stays above a cache, a filter or computed columns, and if the metadata states
 * other extents than the file has. The source checks its file as without the re-block.
 *
 * <p>This rule runs once, before Spark hands filters to sources.
 */
public final class ReadInBlocks extends Rule<LogicalPlan> {
  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    return plan.transformUp(
        ScalaInterop.partialFunction(
            node ->
                node instanceof AssembleBlocks assembled
                    ? assembled.sameArray().flatMap(cut -> read(assembled, cut))
                    : Optional.empty()));
  }

  private static Optional<LogicalPlan> read(AssembleBlocks assembled, CutBlocks cut) {
    Attributes.Source source =
        Attributes.belowProjections(cut.child(), ScalaInterop.<Attribute>list(cut.inputs()))
            .orElse(null);
    List<Attribute> blocks = ScalaInterop.list(assembled.produced());
    if (source == null
        || cut.spec().extents().isEmpty()
        || !(source.plan() instanceof DataSourceV2Relation relation)
        || !(relation.table() instanceof StoredInBlocks stored)
        || !areNamedAlike(source.columns(), blocks)) {
      return Optional.empty();
    }
    return stored
        .inBlocks(cut.spec().extents().get(), assembled.spec().blockShape())
        .map(table -> over(relation, table, source.columns(), blocks));
  }

  /** True if each block column is read from the source's column of the same name. */
  private static boolean areNamedAlike(List<Attribute> read, List<Attribute> blocks) {
    return IntStream.range(0, read.size())
        .allMatch(i -> read.get(i).name().equals(blocks.get(i).name()));
  }

  /**
   * A scan of another table that replaces a relation's columns.
   *
   * @param read columns of the relation
   * @param blocks the output, in place of {@code read}, position by position
   */
  private static LogicalPlan over(
      DataSourceV2Relation relation, Table table, List<Attribute> read, List<Attribute> blocks) {
    List<Attribute> output =
        ScalaInterop.<Attribute>list(relation.output()).stream()
            .map(column -> Attributes.indexOf(read, column))
            .filter(position -> position >= 0)
            .<Attribute>map(blocks::get)
            .toList();
    LogicalPlan scan =
        NodeFields.with(
            NodeFields.with(relation, relation.table(), table),
            relation.output(),
            ScalaInterop.seq(output));
    return output.equals(blocks) ? scan : new Project(ScalaInterop.seq(blocks), scan);
  }
}
