package org.tilespark.spark.permute;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ScalaInterop;

/** The logical plan behind withExtents; shared by SQL functions and the Java API. */
public final class BlockPlans {
  private BlockPlans() {}

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
        Attributes.as(
            values, (Attribute) values.newInstance().withMetadata(metadata.toMetadata())));
    return new Project(ScalaInterop.seq(list), input);
  }
}
