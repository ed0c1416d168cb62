package org.tilespark.spark.exchange;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.execution.ProjectExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.adaptive.LogicalQueryStage;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;
import org.tilespark.layout.Cuts;
import org.tilespark.spark.cache.CachedFrames;
import org.tilespark.spark.catalyst.ScalaInterop;

/**
 * How rows of several plans that agree in their keys come to one task without an exchange: each
 * task reads the rows of all partitions, and takes those that are its own.
 *
 * @param plans that give the rows
 * @param keys columns of each in which rows agree that belong together, in the same order
 * @param tasks how many there are
 * @param reason why there need be no exchange, for EXPLAIN
 */
public record Meeting(
    List<LogicalPlan> plans, List<List<Attribute>> keys, int tasks, String reason) {
  /** Copies the lists. */
  public Meeting {
    plans = List.copyOf(plans);
    keys = List.copyOf(keys);
  }

  /**
   * How the rows of plans meet; empty if an exchange is the better way, or they lie together as
   * they are.
   *
   * @param cells how each of the arrays is cut, if each plan gives one array
   * @param bytes of all arrays, if each plan gives one and their extents are known
   */
  public static Optional<Meeting> of(
      SparkContext context,
      List<LogicalPlan> plans,
      List<List<Attribute>> keys,
      Optional<Cuts> cells,
      Optional<Long> bytes) {
    List<LogicalPlan> sources = plans.stream().map(Meeting::unchecked).toList();
    if (areTogether(context, plans, keys)) {
      return Optional.empty();
    }
    boolean areSmall =
        bytes.isPresent()
            && sources.stream().allMatch(each -> SmallArrays.isSmall(bytes.get(), each));
    if (areSmall && !Exchange.isAsked()) {
      return Optional.of(new Meeting(plans, keys, 1, "the arrays are small"));
    }
    List<InMemoryRelation> frames =
        sources.stream().map(Meeting::cached).flatMap(Optional::stream).toList();
    if (frames.size() < sources.size()
        || !frames.stream().allMatch(each -> CachedFrames.areInPlace(context, each))) {
      return Optional.empty();
    }
    long all =
        bytes.orElseGet(
            () -> frames.stream().mapToLong(each -> each.stats().sizeInBytes().toLong()).sum());
    int tasks = Exchange.partitions(context, all, cells);
    return Optional.of(new Meeting(plans, keys, tasks, "cached blocks are read in place"));
  }

  /** What gives the rows of a plan to its tasks. */
  public SparkPlan gathered(int plan, Function<LogicalPlan, SparkPlan> planned) {
    LogicalPlan given = plans.get(plan);
    List<Attribute> by = keys.get(plan);
    return given instanceof CheckedBlocks checked && checked.grid().isDefined()
        ? GatherRowsExec.checked(checked, by, tasks, reason, rows(checked.blocks(), planned))
        : new GatherRowsExec(
            ScalaInterop.none(),
            ScalaInterop.emptySeq(),
            ScalaInterop.seq(by),
            tasks,
            reason,
            rows(given, planned));
  }

  /** Blocks without the check of all of them, which a task that reads all can do. */
  private static LogicalPlan unchecked(LogicalPlan plan) {
    return plan instanceof CheckedBlocks checked && checked.grid().isDefined()
        ? checked.blocks()
        : plan;
  }

  /** A cached frame is read with all of its columns: its rows are views then, and no copies. */
  private static SparkPlan rows(LogicalPlan plan, Function<LogicalPlan, SparkPlan> planned) {
    return plan instanceof Project project && cached(project).isPresent()
        ? new ProjectExec(project.projectList(), rows(project.child(), planned))
        : planned.apply(plan);
  }

  /** The cached frame whose rows a plan gives, perhaps under other names. */
  static Optional<InMemoryRelation> cached(LogicalPlan plan) {
    if (plan instanceof Project project && list(project).stream().allMatch(Meeting::isColumn)) {
      return cached(project.child());
    }
    if (plan instanceof LogicalQueryStage stage) { // adaptive execution plans anew above it
      return cached(stage.logicalPlan());
    }
    return plan instanceof InMemoryRelation frame ? Optional.of(frame) : Optional.empty();
  }

  private static boolean isColumn(NamedExpression given) {
    return given instanceof Attribute
        || (given instanceof Alias alias && alias.child() instanceof Attribute);
  }

  private static List<NamedExpression> list(Project project) {
    return ScalaInterop.list(project.projectList());
  }

  /** True if all rows with equal keys lie in partitions of the same number already. */
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
