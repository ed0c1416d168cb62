package org.tilespark.spark.exchange;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.execution.SparkPlan;
import org.tilespark.layout.Cuts;

/**
 * A way to bring rows of several plans with equal keys to one task without an exchange. The key
 * columns correspond by their order in each plan.
 */
public sealed interface Meeting permits GatheredByTasks, ScansAlike {
  /** The reason why no exchange is needed, for EXPLAIN. */
  String reason();

  /**
   * A plan of the rows of plan number {@code plan}: rows with equal keys are in the partition of
   * the same number in all plans.
   */
  SparkPlan rows(int plan, Function<LogicalPlan, SparkPlan> planned);

  /**
   * A way for the rows of plans to meet in tasks; empty if an exchange is better, or if rows with
   * equal keys are in partitions of the same number already.
   *
   * @param keys key columns of each plan
   * @param cells tiling of each array, if each plan gives one array
   * @param bytes bytes of all arrays together, if each plan gives one and their extents are known
   */
  static Optional<Meeting> of(
      SparkContext context,
      List<LogicalPlan> plans,
      List<List<Attribute>> keys,
      Optional<Cuts> cells,
      Optional<Long> bytes) {
    return ScansAlike.of(plans, keys)
        .or(
            () ->
                areTogether(context, plans, keys)
                    ? Optional.empty()
                    : GatheredByTasks.of(context, plans, keys, cells, bytes));
  }

  /** True if all rows with equal keys are in partitions of the same number already. */
  private static boolean areTogether(
      SparkContext context, List<LogicalPlan> plans, List<List<Attribute>> keys) {
    Set<List<Integer>> ways = new HashSet<>();
    for (int i = 0; i < plans.size(); i++) {
      List<Attribute> by = keys.get(i);
      ways.add(
          Exchange.where(context, plans.get(i))
              .flatMap(found -> Exchange.order(found, by).map(order -> with(order, found)))
              .orElse(List.of()));
    }
    return ways.size() == 1 && !ways.contains(List.<Integer>of());
  }

  private static List<Integer> with(List<Integer> order, Partitioning found) {
    List<Integer> way = new ArrayList<>(order);
    way.add(found.numPartitions());
    return way;
  }
}
