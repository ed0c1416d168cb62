package org.tilespark.spark.exchange;

import java.math.BigInteger;
import java.util.List;
import java.util.Optional;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LeafNode;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Repartition;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;
import org.tilespark.spark.block.Bytes;
import org.tilespark.spark.cache.CachedFrames;
import org.tilespark.spark.catalyst.LogicalBlockNode;
import org.tilespark.spark.catalyst.ScalaInterop;

/** Decides which arrays are so small that one task assembles them faster than an exchange. */
final class SmallArrays {
  /**
   * Most bytes of pieces for one task (docs/decisions/partitions-follow-the-work.md). An exchange
   * costs one more stage; without it, the operators above and below run in the same task.
   */
  static final long MOST_BYTES = 4L << 20;

  /**
   * Most bytes of an input from which the pieces are read: more than {@link #MOST_BYTES}, since the
   * input may also have columns that are not read.
   */
  private static final BigInteger MOST_BYTES_READ = BigInteger.valueOf(4 * MOST_BYTES);

  private SmallArrays() {}

  /**
   * True if the pieces have at most {@link #MOST_BYTES}, and their plan reads only small sources
   * and computes little. If other operators than ours compute the blocks, their cost is unknown,
   * and many tasks may be faster.
   *
   * @param bytes bytes of the pieces
   * @param pieces plan of the pieces, or of their blocks
   */
  static boolean isSmall(long bytes, LogicalPlan pieces) {
    return bytes <= MOST_BYTES && isReadAtOnce(pieces);
  }

  /**
   * True for pieces of an array of few bytes that is completely cached; its extents need not be
   * known.
   */
  static boolean areFewCached(LogicalPlan pieces) {
    LogicalPlan blocks =
        pieces instanceof PieceUnion union
            ? ScalaInterop.<LogicalPlan>list(union.children()).get(0)
            : pieces;
    List<LogicalPlan> leaves = ScalaInterop.list(blocks.collectLeaves());
    return leaves.stream().allMatch(InMemoryRelation.class::isInstance)
        && isSmall(leaves.stream().mapToLong(SmallArrays::bytes).reduce(0, Bytes::sum), pieces);
  }

  private static long bytes(LogicalPlan leaf) {
    return leaf.stats().sizeInBytes().toLong();
  }

  /**
   * The plan {@code pieces} for one task: the aggregation that finds the extents for the marks gets
   * its rows in one partition, so that it needs no exchange.
   */
  static LogicalPlan inOneTask(LogicalPlan pieces) {
    return pieces.transformUp(
        ScalaInterop.partialFunction(
            node ->
                node instanceof MarkCells marks && marks.child() instanceof Aggregate arrays
                    ? Optional.of(over(marks, over(arrays, inOnePartition(arrays.child()))))
                    : Optional.empty()));
  }

  /**
   * The check of an array's places. If tasks read these in place from a cached frame, one task
   * reads them all, which takes less time than a stage more.
   */
  static LogicalPlan check(SparkContext context, Aggregate places) {
    return GatheredByTasks.cached(places.child())
            .filter(frame -> CachedFrames.areInPlace(context, frame))
            .isPresent()
        ? over(places, inOnePartition(places.child()))
        : places;
  }

  private static LogicalPlan inOnePartition(LogicalPlan rows) {
    return new Repartition(1, false, rows);
  }

  private static LogicalPlan over(LogicalPlan node, LogicalPlan child) {
    return node.withNewChildren(ScalaInterop.<LogicalPlan>seq(child));
  }

  private static boolean isReadAtOnce(LogicalPlan plan) {
    if (plan instanceof MarkCells marks && marks.child() instanceof Aggregate arrays) {
      return isReadAtOnce(arrays.child());
    }
    if (plan instanceof LeafNode) {
      return plan.stats().sizeInBytes().bigInteger().compareTo(MOST_BYTES_READ) <= 0
          && (!(plan instanceof InMemoryRelation cached)
              || cached.cacheBuilder().isCachedColumnBuffersLoaded());
    }
    boolean isCheap =
        plan instanceof LogicalBlockNode block && block.costsLittle()
            || plan instanceof Union
            || (plan instanceof Project project && isRenaming(project));
    return isCheap
        && ScalaInterop.<LogicalPlan>list(plan.children()).stream()
            .allMatch(SmallArrays::isReadAtOnce);
  }

  private static boolean isRenaming(Project project) {
    return ScalaInterop.<NamedExpression>list(project.projectList()).stream()
        .map(each -> each instanceof Alias alias ? alias.child() : (Expression) each)
        .allMatch(each -> each instanceof Attribute || each instanceof Literal);
  }
}
