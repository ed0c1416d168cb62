package org.tilespark.spark.exchange;

import java.math.BigInteger;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LeafNode;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;
import org.tilespark.spark.catalyst.LogicalBlockNode;
import org.tilespark.spark.catalyst.ScalaInterop;

/** Which arrays one task assembles sooner than an exchange begins. */
final class SmallArrays {
  /**
   * Bytes of pieces that one task takes (docs/decisions/partitions-follow-the-work.md). An exchange
   * costs a stage more; what is computed above and below is in the same task then.
   */
  static final long MOST_BYTES = 4L << 20;

  /** What is read below may have other columns, and copies in a cache. */
  private static final BigInteger MOST_BYTES_READ = BigInteger.valueOf(4 * MOST_BYTES);

  private SmallArrays() {}

  /**
   * True of few bytes that are read from something small. Where anything else than block operators
   * makes the blocks, nobody knows what they cost, and many tasks make them sooner.
   */
  static boolean isSmall(long bytes, LogicalPlan pieces) {
    return bytes <= MOST_BYTES && isReadAtOnce(pieces);
  }

  private static boolean isReadAtOnce(LogicalPlan plan) {
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
