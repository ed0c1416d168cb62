package org.tilespark.spark.reblock;

import java.util.List;
import java.util.Optional;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.GridCheck;
import org.tilespark.spark.block.StoredInBlocks;
import org.tilespark.spark.catalyst.GivesPlaces;
import org.tilespark.spark.catalyst.LogicalBlockNode;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.exchange.CheckedBlocks;
import org.tilespark.spark.exchange.Exchange;
import org.tilespark.spark.exchange.MarkCells;
import org.tilespark.spark.exchange.RowSource;
import scala.Option;

/**
 * Keeps the check of all places of a re-block's input only if it is needed and cheap. Blocks of a
 * stored array need no check if they are read in the tiling that is checked. For blocks from
 * another re-block, the places are those of its {@link MarkCells}. If places cannot be read without
 * computing the whole input again, the check is dropped, and only each block is checked separately.
 *
 * <p>This rule runs once, after Spark has removed unused columns.
 */
public final class CheapChecks extends Rule<LogicalPlan> {
  private final SparkContext context;

  /** The rule for one session. */
  public CheapChecks(SparkSession session) {
    this.context = session.sparkContext();
  }

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    return plan.transformUp(
        ScalaInterop.partialFunction(
            node ->
                node instanceof CheckedBlocks checked && checked.grid().isDefined()
                    ? cheap(checked)
                    : Optional.empty()));
  }

  /** The node with a cheap check or none; empty if it need not change. */
  private Optional<LogicalPlan> cheap(CheckedBlocks checked) {
    List<LogicalPlan> checks = ScalaInterop.list(checked.checks());
    if (checks.isEmpty()) {
      return Optional.empty();
    }
    if (areStored(checked, checks.get(0))) {
      return Optional.of(checked.blocks());
    }
    LogicalPlan check =
        checks
            .get(0)
            .transformUp(
                ScalaInterop.partialFunction(
                    node ->
                        node instanceof GivesPlaces blocks ? blocks.places() : Optional.empty()));
    boolean readsValues = // as in a condition on values between the check and a re-block
        check.exists(ScalaInterop.function(node -> !node.missingInput().isEmpty()));
    return Optional.of(
        !readsValues
                && check instanceof Aggregate places
                && LogicalBlockNode.coordinatesAreCheap(places.child())
            ? checked.withChecks(Exchange.check(context, places))
            : checked.withoutChecks());
  }

  /**
   * True if the check reads a whole array that is stored in the tiling, and the blocks are part of
   * it.
   */
  private static boolean areStored(CheckedBlocks checked, LogicalPlan check) {
    GridCheck tiling = checked.grid().get();
    return check instanceof Aggregate all
        && all.groupingExpressions().isEmpty()
        && isStored(tiling, all.child(), places(all))
        && stored(tiling, checked.blocks(), ScalaInterop.list(checked.places())).isPresent();
  }

  /**
   * True if a plan reads a whole array that is stored in a tiling, so that its blocks need no
   * check.
   *
   * @param places columns of the plan with the places and sizes of its blocks
   */
  static boolean isStored(GridCheck tiling, LogicalPlan plan, List<Attribute> places) {
    return stored(tiling, plan, places).filter(RowSource::isWhole).isPresent();
  }

  /** The columns with places and sizes that a check reads. */
  private static List<Attribute> places(Aggregate check) {
    return ScalaInterop.<NamedExpression>list(check.aggregateExpressions()).stream()
        .map(each -> ((Expression) each).find(ScalaInterop.function(TilingCheck.class::isInstance)))
        .filter(Option::isDefined)
        .flatMap(found -> ScalaInterop.<Expression>list(found.get().children()).stream())
        .filter(Attribute.class::isInstance)
        .map(Attribute.class::cast)
        .toList();
  }

  private static Optional<RowSource> stored(
      GridCheck tiling, LogicalPlan plan, List<Attribute> places) {
    return RowSource.of(plan, places)
        .filter(
            found ->
                found.leaf() instanceof DataSourceV2Relation relation
                    && relation.table() instanceof StoredInBlocks stored
                    && axes(tiling.kind(), found.names())
                        .filter(axes -> stored.isIn(tiling, axes))
                        .isPresent());
  }

  /** The axes to which the offset columns belong, if the size columns follow in the same order. */
  private static Optional<Permutation> axes(BlockKind kind, List<String> columns) {
    int rank = kind.rank();
    List<Integer> axes = columns.stream().limit(rank).map(kind.offsetColumns()::indexOf).toList();
    boolean areAll =
        axes.stream().distinct().count() == rank
            && !axes.contains(-1)
            && axes.stream()
                .map(kind.sizeColumns()::get)
                .toList()
                .equals(columns.stream().skip(rank).toList());
    return areAll
        ? Optional.of(Permutation.of(axes.stream().mapToInt(Integer::intValue).toArray()))
        : Optional.empty();
  }
}
