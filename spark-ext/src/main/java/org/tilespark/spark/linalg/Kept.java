package org.tilespark.spark.linalg;

import java.util.function.Function;
import java.util.function.Supplier;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;
import org.apache.spark.sql.execution.columnar.InMemoryRelation$;
import org.apache.spark.storage.StorageLevel;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.catalyst.compat.CachedBuilders;
import scala.Option;

/**
 * An intermediate result that several plans read and that is computed once: rows in Spark's cache,
 * invisible to other queries. The first query that reads them computes them. If an executor is
 * lost, the next reader computes its partitions again. Spark's cleaner frees the rows when all
 * plans that read them are unreachable.
 *
 * <p>Immutable, and safe for several threads.
 */
public final class Kept {
  private final InMemoryRelation relation;

  private Kept(InMemoryRelation relation) {
    this.relation = relation;
  }

  /**
   * The rows of a plan, which is planned now and runs when the rows are first read.
   *
   * @param plan a resolved plan, which gives the same rows in each run
   * @param name a name for EXPLAIN and the UI
   * @param asDataset turns a plan into a DataFrame
   */
  public static Kept of(
      LogicalPlan plan, String name, Function<LogicalPlan, Dataset<Row>> asDataset) {
    var dataset = (org.apache.spark.sql.classic.Dataset<Row>) asDataset.apply(plan);
    QueryExecution query = dataset.queryExecution();
    InMemoryRelation shown =
        InMemoryRelation$.MODULE$.apply(StorageLevel.MEMORY_AND_DISK(), query, Option.apply(name));
    KeptExec rows =
        inSession(
            dataset.sparkSession(),
            () -> new KeptExec(new KeptExec.Hidden(name, shown.cachedPlan(), plan, depth(query))));
    return new Kept(
        InMemoryRelation$.MODULE$.apply(
            // The physical plan's columns have lost their metadata.
            plan.output(),
            CachedBuilders.of(shown.cacheBuilder(), rows),
            shown.outputOrdering(),
            shown.statsOfPlanToCache()));
  }

  /** Makes a physical node while {@code session} is the active session, which nodes read. */
  private static KeptExec inSession(SparkSession session, Supplier<KeptExec> make) {
    Option<SparkSession> before = SparkSession.getActiveSession();
    SparkSession.setActiveSession(session);
    try {
      return make.get();
    } finally {
      if (before.isDefined()) {
        SparkSession.setActiveSession(before.get());
      } else {
        SparkSession.clearActiveSession();
      }
    }
  }

  private static int depth(QueryExecution query) {
    int deepest = 0;
    for (LogicalPlan leaf : ScalaInterop.<LogicalPlan>list(query.optimizedPlan().collectLeaves())) {
      if (leaf instanceof InMemoryRelation relation
          && relation.cachedPlan() instanceof KeptExec kept) {
        deepest = Math.max(deepest, kept.depth());
      }
    }
    return deepest + 1;
  }

  /** A plan of the rows, with fresh column ids at each call. */
  public LogicalPlan plan() {
    return relation.newInstance();
  }
}
