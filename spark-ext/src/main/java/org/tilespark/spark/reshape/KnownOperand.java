package org.tilespark.spark.reshape;

import java.util.Optional;
import java.util.function.Function;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.GroupingColumns;
import org.tilespark.spark.block.KnownArray;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.reblock.ReblockPlans;

/**
 * Blocks whose extents are known.
 *
 * @param frame states the extents, unless there are no blocks
 * @param known of the array, or of all arrays that further columns tell apart
 */
record KnownOperand(BlockFrame frame, KnownArray known) {
  /**
   * The blocks of a plan. Where their metadata states no extents, an aggregate over the coordinate
   * columns finds them now.
   *
   * @param asDataset makes a DataFrame of a plan
   * @param operator who asks, for messages
   * @throws IllegalArgumentException if there are no such blocks, or arrays of different extents
   */
  static KnownOperand of(
      LogicalPlan input,
      BlockKind kind,
      Function<LogicalPlan, Dataset<Row>> asDataset,
      String operator) {
    BlockFrame frame = BlockFrame.of(input, kind, operator);
    GroupingColumns.of(frame.blocks(), frame.columns(), operator);
    KnownArray known = KnownArray.of(input, frame.blocks(), Missing.ERROR, asDataset, operator);
    boolean isEmpty = known.extents().elements() == 0; // then nobody knows whether they are alike
    if (!known.alike() && !isEmpty) {
      throw new IllegalArgumentException(
          ("%s: the arrays that further columns tell apart have different extents, of up to %s;"
                  + " expected equal ones. Take arrays of each extents by themselves")
              .formatted(operator, known.extents()));
    }
    return new KnownOperand(
        isEmpty || frame.extents().isPresent()
            ? frame
            : frame.stating(frame.metadata().withExtents(known.extents())),
        known);
  }

  /** The same blocks without the transforms that the metadata states: they do not hold any more. */
  KnownOperand withoutSpectrum() {
    return frame.metadata().spectrum().isEmpty()
        ? this
        : new KnownOperand(frame.stating(frame.metadata().withSpectrum(Optional.empty())), known);
  }

  Shape extents() {
    return known.extents();
  }

  boolean isEmpty() {
    return extents().elements() == 0;
  }

  /** True if there are no blocks, and nothing says of what extents. */
  boolean isNothing() {
    return isEmpty() && frame.extents().isEmpty();
  }

  /** The same array in blocks of a shape, checked, for what changes nothing. */
  LogicalPlan unchanged(long[] blockShape) {
    return ReblockPlans.reblock(
        frame.plan(), frame.kind(), blockShape, Missing.ERROR, frame.operator());
  }

  /** A shape for the blocks of a result with such extents. */
  long[] blockShape(Shape target) {
    return ReblockPlans.shapeLike(frame, known, target);
  }
}
