package org.tilespark.spark.vectors;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import org.apache.spark.sql.columnar.CachedBatch;
import org.apache.spark.sql.execution.ColumnarToRowExec;
import org.apache.spark.sql.execution.InputAdapter;
import org.apache.spark.sql.execution.ProjectExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.WholeStageCodegenExec;
import org.apache.spark.sql.execution.adaptive.LogicalQueryStage;
import org.apache.spark.sql.execution.adaptive.QueryStageExec;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec;
import org.tilespark.spark.cache.CachedFrames;
import org.tilespark.spark.rows.RenamedBlocksExec;

/**
 * Facts about a table in Spark's cache that a job has found and the driver remembers. They are
 * dropped when Spark drops the table, when a partition is missing, which may have different rows
 * once it is computed again, or when the table's size as known to Spark has changed. Thread-safe.
 */
final class CachedTable {
  private static final Map<RDD<CachedBatch>, CachedTable> KNOWN = new WeakHashMap<>();

  private final List<Object> size; // size of the cached table, as known to Spark
  private final Map<Object, Object> found = new ConcurrentHashMap<>();

  private CachedTable(List<Object> size) {
    this.size = size;
  }

  /**
   * The cached table whose rows a plan gives completely and in the same partitions; empty
   * otherwise.
   */
  static Optional<InMemoryRelation> of(LogicalPlan plan) {
    if (plan instanceof Project project) {
      return of(project.child());
    }
    if (plan instanceof LogicalQueryStage stage) {
      return of(stage.logicalPlan());
    }
    return plan instanceof InMemoryRelation table ? Optional.of(table) : Optional.empty();
  }

  /**
   * The cached table whose rows a plan gives completely and in the same partitions; empty
   * otherwise.
   */
  static Optional<InMemoryRelation> of(SparkPlan plan) {
    if (plan instanceof QueryStageExec stage) {
      return of(stage.plan());
    }
    if (plan instanceof InMemoryTableScanExec scan) {
      return scan.predicates().isEmpty() ? Optional.of(scan.relation()) : Optional.empty();
    }
    boolean keepsRows =
        plan instanceof ProjectExec
            || plan instanceof WholeStageCodegenExec
            || plan instanceof InputAdapter
            || plan instanceof ColumnarToRowExec
            || plan instanceof RenamedBlocksExec;
    return keepsRows ? of(plan.children().head()) : Optional.empty();
  }

  /** The rows of each partition of a table: remembered, or counted by a job. */
  static long[] counts(InMemoryRelation table) {
    long[] counts =
        remembered(
            table,
            "rows of each partition",
            long[].class,
            () -> RowCounts.of(table.cacheBuilder().cachedColumnBuffers(), CachedTable::rows));
    return Arrays.copyOf(counts, counts.length);
  }

  private static long rows(CachedBatch batch) {
    return batch.numRows();
  }

  /**
   * A fact about a table: remembered, or found by a job.
   *
   * @param what key of the fact: equal for equal facts
   * @param find finds the fact by a job; called if the fact is not remembered
   */
  static <T> T remembered(InMemoryRelation table, Object what, Class<T> type, Supplier<T> find) {
    Optional<CachedTable> before = current(table);
    Object known = before.map(memory -> memory.found.get(what)).orElse(null);
    if (known != null) {
      return type.cast(known);
    }
    T made = find.get();
    // Facts found while the cache changed may describe partitions that no longer exist.
    before
        .filter(memory -> current(table).filter(now -> now == memory).isPresent())
        .ifPresent(memory -> memory.found.put(what, made));
    return made;
  }

  /** The remembered facts of a table that is cached now; empty if not all partitions are cached. */
  private static Optional<CachedTable> current(InMemoryRelation table) {
    if (!table.cacheBuilder().isCachedColumnBuffersLoaded()) {
      return Optional.empty();
    }
    RDD<CachedBatch> batches = table.cacheBuilder().cachedColumnBuffers();
    boolean isWhole = CachedFrames.isWhole(batches);
    Statistics now = table.computeStats();
    List<Object> size = List.of(now.sizeInBytes(), now.rowCount());
    synchronized (KNOWN) {
      CachedTable known = KNOWN.get(batches);
      if (!isWhole) {
        KNOWN.remove(batches);
        return Optional.empty();
      }
      if (known == null || !known.size.equals(size)) {
        known = new CachedTable(size);
        KNOWN.put(batches, known);
      }
      return Optional.of(known);
    }
  }
}
