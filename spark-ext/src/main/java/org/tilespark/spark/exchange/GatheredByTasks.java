package org.tilespark.spark.exchange;

import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.execution.ProjectExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.adaptive.LogicalQueryStage;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;
import org.tilespark.layout.Cuts;
import org.tilespark.spark.cache.CachedFrames;
import org.tilespark.spark.catalyst.ScalaInterop;

/**
 * A meeting in which each task reads the rows of all partitions and takes its own.
 *
 * @param plans plans that give the rows
 * @param keys key columns of each plan
 * @param tasks number of tasks
 * @param reason the reason why there is no exchange, for EXPLAIN
 */
record GatheredByTasks(
    List<LogicalPlan> plans, List<List<Attribute>> keys, int tasks, String reason)
    implements Meeting {
  /** Least number of rows per task for which hashes distribute rows about evenly. */
  private static final int EVEN_ROWS = 64;

  /** Copies the lists. */
  GatheredByTasks {
    plans = List.copyOf(plans);
    keys = List.copyOf(keys);
  }

  /**
   * A meeting as {@link Meeting#of} gives it, for rows with equal keys that are not in equal
   * partitions yet.
   */
  static Optional<Meeting> of(
      SparkContext context,
      List<LogicalPlan> plans,
      List<List<Attribute>> keys,
      Optional<Cuts> cells,
      Optional<Long> bytes) {
    List<LogicalPlan> sources = plans.stream().map(GatheredByTasks::unchecked).toList();
    boolean areSmall =
        bytes.isPresent()
            && sources.stream().allMatch(each -> SmallArrays.isSmall(bytes.get(), each));
    if (areSmall && !Exchange.isAsked()) {
      return Optional.of(new GatheredByTasks(plans, keys, 1, "the arrays are small"));
    }
    List<InMemoryRelation> frames =
        sources.stream().map(GatheredByTasks::cached).flatMap(Optional::stream).toList();
    if (frames.size() < sources.size()
        || !frames.stream().allMatch(each -> CachedFrames.areInPlace(context, each))) {
      return Optional.empty();
    }
    long all =
        bytes.orElseGet(
            () -> frames.stream().mapToLong(each -> each.stats().sizeInBytes().toLong()).sum());
    int tasks = Exchange.partitions(context, all, cells);
    int cores = context.defaultParallelism();
    boolean areMany =
        frames.stream()
            .map(each -> each.stats().rowCount())
            .allMatch(rows -> rows.isDefined() && rows.get().toLong() >= (long) EVEN_ROWS * cores);
    if (areMany && !Exchange.isAsked()) {
      tasks = Math.min(tasks, cores); // more would be useless, since each task looks at all rows
    }
    return Optional.of(new GatheredByTasks(plans, keys, tasks, "cached blocks are read in place"));
  }

  @Override
  public SparkPlan rows(int plan, Function<LogicalPlan, SparkPlan> planned) {
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

  /**
   * The plan of blocks without the second plan of {@link CheckedBlocks}, if the blocks must be
   * those of a tiling: each task reads all of them and can check that.
   */
  private static LogicalPlan unchecked(LogicalPlan plan) {
    return plan instanceof CheckedBlocks checked && checked.grid().isDefined()
        ? checked.blocks()
        : plan;
  }

  /**
   * The rows of a plan; a cached frame is read with all of its columns, since its rows are then
   * views and not copies.
   */
  static SparkPlan rows(LogicalPlan plan, Function<LogicalPlan, SparkPlan> planned) {
    return plan instanceof Project project && cached(project).isPresent()
        ? new ProjectExec(project.projectList(), rows(project.child(), planned))
        : planned.apply(plan);
  }

  /** The cached frame whose rows a plan gives, perhaps under other names. */
  static Optional<InMemoryRelation> cached(LogicalPlan plan) {
    if (plan instanceof Project project
        && list(project).stream().allMatch(GatheredByTasks::isColumn)) {
      return cached(project.child());
    }
    // A stage that has run, above which adaptive execution plans again.
    if (plan instanceof LogicalQueryStage stage) {
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
}
