package org.tilespark.spark.exchange;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.catalyst.NodeFields;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.rows.BlockScan;

/**
 * A meeting of stored arrays with the same tiling: each task reads the same places of all arrays.
 *
 * @param plans plans over scans that distribute their blocks in the same way
 */
record ScansAlike(List<LogicalPlan> plans) implements Meeting {
  /** Copies the list. */
  ScansAlike {
    plans = List.copyOf(plans);
  }

  /**
   * The meeting; empty if a plan reads anything but a scan, or if blocks with equal keys are in
   * partitions of different numbers.
   */
  static Optional<Meeting> of(List<LogicalPlan> plans, List<List<Attribute>> keys) {
    List<List<String>> places = new ArrayList<>();
    List<DataSourceV2ScanRelation> relations = new ArrayList<>();
    for (int i = 0; i < plans.size(); i++) {
      RowSource source = RowSource.of(plans.get(i), keys.get(i)).orElse(null);
      if (source == null
          || !(source.leaf() instanceof DataSourceV2ScanRelation relation)
          || !(relation.scan() instanceof BlockScan)) {
        return Optional.empty();
      }
      places.add(source.names());
      relations.add(relation);
    }
    if (!arePlaces(places.get(0)) || places.stream().distinct().count() > 1) {
      return Optional.empty();
    }
    List<BlockScan> scans = relations.stream().map(each -> (BlockScan) each.scan()).toList();
    return scans
        .get(0)
        .sharedWith(scans.subList(1, scans.size()))
        .map(
            shared ->
                new ScansAlike(
                    IntStream.range(0, plans.size())
                        .mapToObj(i -> over(plans.get(i), relations.get(i), shared.get(i)))
                        .toList()));
  }

  private static boolean arePlaces(List<String> columns) {
    return Arrays.stream(BlockKind.values())
        .map(BlockKind::offsetColumns)
        .anyMatch(each -> each.size() == columns.size() && Set.copyOf(each).containsAll(columns));
  }

  /** A plan with its scan replaced by another scan of the same rows. */
  private static LogicalPlan over(
      LogicalPlan plan, DataSourceV2ScanRelation relation, BlockScan scan) {
    LogicalPlan instead = NodeFields.with(relation, relation.scan(), scan);
    return (LogicalPlan)
        plan.transformDown(
            ScalaInterop.<LogicalPlan, LogicalPlan>partialFunction(
                node -> node == relation ? Optional.of(instead) : Optional.empty()));
  }

  @Override
  public String reason() {
    return "stored blocks at one place are read by one task";
  }

  @Override
  public SparkPlan rows(int plan, Function<LogicalPlan, SparkPlan> planned) {
    return planned.apply(plans.get(plan));
  }
}
