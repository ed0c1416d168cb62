package org.tilespark.spark.slice;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.tilespark.arrow.blocks.ArrayProgram;
import org.tilespark.arrow.blocks.Slice;
import org.tilespark.layout.AxisRange;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.KnownArray;
import org.tilespark.spark.block.StatedExtents;
import org.tilespark.spark.catalyst.PushedConditions;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.stage.ProgramBlocks;

/**
 * Makes the logical plans of slices: a program of one step ({@link ProgramBlocks}) over a filter
 * ({@link MeetsRange}) of the blocks that it needs, which Spark and our rules move down to where
 * the blocks are read.
 */
public final class SlicePlans {
  private SlicePlans() {}

  /**
   * Some elements along each axis.
   *
   * @param asDataset makes a DataFrame of a plan; extents that no metadata states are found by a
   *     small aggregate over the coordinates, which runs now
   * @throws IllegalArgumentException if {@code input} has no such blocks, its arrays have different
   *     extents, or nothing is left
   */
  public static LogicalPlan slice(
      LogicalPlan input,
      BlockKind kind,
      SliceText text,
      Function<LogicalPlan, Dataset<Row>> asDataset,
      String operator) {
    BlockFrame frame = BlockFrame.of(input, kind, operator);
    Shape extents = extents(input, frame, asDataset, operator);
    Slice slice = text.of(extents, kind, operator);
    List<Expression> conditions = new ArrayList<>();
    for (int axis = 0; axis < kind.rank(); axis++) {
      AxisRange range = slice.ranges().get(axis);
      if (!range.isAll(extents.extent(axis))) {
        conditions.add(MeetsRange.of(range, frame.offset(axis), frame.size(axis)));
      }
    }
    LogicalPlan whole = stated(input, kind, extents, operator);
    if (conditions.isEmpty()) {
      return whole;
    }
    ArrayProgram program =
        new ArrayProgram(
            extents,
            frame.blocks().elementType(),
            frame.blocks().isComplex(),
            List.of(slice));
    ArrayMetadata metadata = frame.metadata().withExtents(slice.shape()).withSpectrum(Optional.empty());
    Optional<Shape> blockShape = blockShape(frame, slice);
    return ProgramBlocks.of(
        PushedConditions.filtered(whole, conditions),
        kind,
        program,
        (blockShape.isPresent()
                ? metadata.withBlockShape(blockShape.get())
                : metadata.withoutBlockShape())
            .toMetadata(),
        Optional.empty(),
        Missing.ERROR,
        operator);
  }

  /**
   * The elements along some axes in reverse order.
   *
   * @param axes empty for all
   */
  public static LogicalPlan flip(
      LogicalPlan input,
      BlockKind kind,
      Optional<List<Integer>> axes,
      Function<LogicalPlan, Dataset<Row>> asDataset,
      String operator) {
    List<Integer> reversed = axes.orElse(IntStream.range(0, kind.rank()).boxed().toList());
    return slice(input, kind, SliceText.flip(kind, reversed), asDataset, operator);
  }

  /** The extents of the only array, or of each of several. */
  private static Shape extents(
      LogicalPlan input,
      BlockFrame frame,
      Function<LogicalPlan, Dataset<Row>> asDataset,
      String operator) {
    // Holes stay holes: a slice does not look at them.
    KnownArray known = KnownArray.of(input, frame.blocks(), Missing.ZERO, asDataset, operator);
    Shape extents = known.extents();
    if (Arrays.stream(extents.toArray()).anyMatch(extent -> extent == 0)) {
      throw new IllegalArgumentException(
          "%s: the extents are %s; expected at least one element (state the extents of an array"
                  .formatted(operator, extents)
              + " without blocks)");
    }
    if (!known.alike()) {
      throw new IllegalArgumentException(
          ("%s: the arrays that further columns tell apart have different extents, up to %s along"
                  + " each axis; expected one size (slice them apart, or state the extents)")
              .formatted(operator, extents));
    }
    return extents;
  }

  /** The input, which states its extents in any case. */
  private static LogicalPlan stated(
      LogicalPlan input, BlockKind kind, Shape extents, String operator) {
    boolean isStated = BlockFrame.of(input, kind, operator).extents().isPresent();
    return isStated
        ? input
        : BlockFrame.withExtents(
            input, kind, Optional.of(StatedExtents.of(extents)), operator);
  }

  /** The shape of the result's full blocks; empty if it is no regular grid, or not known. */
  private static Optional<Shape> blockShape(BlockFrame frame, Slice slice) {
    Optional<Shape> blocks = frame.blockShape();
    if (blocks.isEmpty()) {
      return Optional.empty();
    }
    long[] shape = new long[slice.ranges().size()];
    for (int axis = 0; axis < shape.length; axis++) {
      shape[axis] = slice.ranges().get(axis).evenPieces(blocks.get().extent(axis)).orElse(0);
    }
    return Arrays.stream(shape).allMatch(each -> each > 0)
        ? Optional.of(Shape.of(shape))
        : Optional.empty();
  }
}
