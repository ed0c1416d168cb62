package org.tilespark.spark.permute;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.catalyst.ScalaInterop;
import scala.Option;

/** The logical plans behind the operators; shared by SQL functions and the Java API. */
public final class BlockPlans {
  private BlockPlans() {}

  /**
   * Reorders the axes of every block.
   *
   * @throws IllegalArgumentException if {@code input} has no blocks of this kind
   */
  public static LogicalPlan permute(
      LogicalPlan input, BlockKind kind, Permutation permutation, String operator) {
    return PermuteBlocks.of(input, kind, permutation, operator);
  }

  /**
   * The input with the extents of the whole array stated anew, as column metadata on its values.
   *
   * @param extents {@code "10000,784"}, {@code "unknown"} to forget what is stated, or empty to
   *     leave it
   * @throws IllegalArgumentException if the text is no shape of the kind's rank
   */
  public static LogicalPlan withExtents(
      LogicalPlan input, BlockKind kind, Optional<String> extents, String operator) {
    if (extents.isEmpty()) {
      return input;
    }
    BlockFrame frame = BlockFrame.of(input, kind, operator);
    Attribute values = frame.values();
    ArrayMetadata metadata =
        frame.metadata().stating(operator + ": extents", extents.get(), kind.rank());
    List<NamedExpression> list = new ArrayList<>(frame.columns());
    list.set(
        frame.blocks().values(),
        new Alias(
            values,
            values.name(),
            NamedExpression$.MODULE$.newExprId(),
            values.qualifier(),
            Option.apply(metadata.toMetadata()),
            ScalaInterop.emptySeq()));
    return new Project(ScalaInterop.seq(list), input);
  }
}
