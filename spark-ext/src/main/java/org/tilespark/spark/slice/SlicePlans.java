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
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.Max;
import org.apache.spark.sql.catalyst.expressions.aggregate.Min;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.tilespark.arrow.blocks.ArrayProgram;
import org.tilespark.arrow.blocks.Slice;
import org.tilespark.layout.AxisRange;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockEnd;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.GroupingColumns;
import org.tilespark.spark.block.KnownOperand;
import org.tilespark.spark.block.StatedExtents;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.EagerQuery;
import org.tilespark.spark.catalyst.PushedConditions;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.stage.ProgramBlocks;

/**
 * Makes the logical plans of slices: a program of one step ({@link ProgramBlocks}) over a filter
 * ({@link MeetsRange}) of the needed blocks, which Spark and our rules move down to the source.
 * Blocks are processed one by one: holes and doubled blocks remain in the result, where later
 * operators find them. The result is never a spectrum.
 */
public final class SlicePlans {
  private SlicePlans() {}

  /**
   * Selects elements along each axis.
   *
   * @param asDataset turns a plan into a DataFrame; extents that no metadata states are found by a
   *     small aggregate over the coordinates, which runs now
   * @throws IllegalArgumentException if {@code input} has no blocks of this kind, its arrays have
   *     different extents, or no element is left
   */
  public static LogicalPlan slice(
      LogicalPlan input,
      BlockKind kind,
      SliceText text,
      Function<LogicalPlan, Dataset<Row>> asDataset,
      String operator) {
    BlockFrame frame = operand(input, kind, asDataset, operator);
    return sliced(frame, text.of(frame.extents().orElseThrow(), kind, operator));
  }

  private static LogicalPlan sliced(BlockFrame frame, Slice slice) {
    Shape extents = frame.extents().orElseThrow();
    List<Expression> conditions = new ArrayList<>();
    for (int axis = 0; axis < extents.rank(); axis++) {
      AxisRange range = slice.ranges().get(axis);
      if (!range.isAll(extents.extent(axis))) {
        conditions.add(MeetsRange.of(range, frame.offset(axis), frame.size(axis)));
      }
    }
    ArrayMetadata metadata =
        frame.metadata().withExtents(slice.shape()).withSpectrum(Optional.empty());
    boolean isWhole =
        IntStream.range(0, extents.rank())
            .allMatch(axis -> slice.ranges().get(axis).isAll(extents.extent(axis)));
    if (isWhole) {
      return metadata.equals(frame.metadata()) ? frame.plan() : frame.stating(metadata).plan();
    }
    ArrayProgram program =
        new ArrayProgram(
            extents, frame.blocks().elementType(), frame.blocks().isComplex(), List.of(slice));
    Optional<Shape> blockShape = blockShape(frame, slice);
    return ProgramBlocks.of(
        PushedConditions.filtered(frame.plan(), conditions),
        frame.kind(),
        program,
        (blockShape.isPresent()
                ? metadata.withBlockShape(blockShape.get())
                : metadata.withoutBlockShape())
            .toMetadata(),
        Optional.empty(),
        Missing.ERROR,
        frame.operator());
  }

  /**
   * Reverses the order of elements along some axes.
   *
   * @param axes numbers of the axes; empty for all
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

  /**
   * The part of an array that the blocks cover, with a new origin: the lowest offset along each
   * axis becomes 0. A small aggregate over the coordinates finds the part, and runs now.
   *
   * @param asDataset as for {@link #slice}
   * @throws IllegalArgumentException if {@code input} has no blocks of this kind, no blocks at all,
   *     or blocks of several arrays that cover different parts
   */
  public static LogicalPlan withOrigin(
      LogicalPlan input,
      BlockKind kind,
      Function<LogicalPlan, Dataset<Row>> asDataset,
      String operator) {
    BlockFrame frame = BlockFrame.of(input, kind, operator);
    int rank = kind.rank();
    List<NamedExpression> bounds = new ArrayList<>();
    List<String> all = new ArrayList<>();
    for (int axis = 0; axis < rank; axis++) {
      Expression end = BlockEnd.of(frame.offset(axis), frame.size(axis));
      bounds.add(
          Attributes.alias(new Min(frame.offset(axis)).toAggregateExpression(), "low" + axis));
      bounds.add(Attributes.alias(new Max(end).toAggregateExpression(), "end" + axis));
      for (String bound : List.of("low" + axis, "end" + axis)) {
        all.addAll(List.of("min(" + bound + ")", "max(" + bound + ")"));
      }
    }
    List<Expression> groups =
        List.copyOf(GroupingColumns.of(frame.blocks(), frame.columns(), operator));
    Row found =
        EagerQuery.run(
            asDataset
                .apply(
                    new Aggregate(
                        ScalaInterop.seq(groups),
                        ScalaInterop.seq(bounds),
                        frame.places(asDataset),
                        ScalaInterop.none()))
                .selectExpr(all.toArray(String[]::new)),
            operator + " finds where the blocks begin and end",
            Dataset<Row>::first);
    List<AxisRange> ranges = new ArrayList<>();
    long[] reach = new long[rank];
    for (int axis = 0; axis < rank; axis++) {
      if (found.isNullAt(4 * axis) || found.isNullAt(4 * axis + 2)) {
        throw new IllegalArgumentException(operator + ": there are no blocks; expected some");
      }
      long low = found.getLong(4 * axis);
      long end = found.getLong(4 * axis + 3);
      boolean areAlike = low == found.getLong(4 * axis + 1) && found.getLong(4 * axis + 2) == end;
      if (!areAlike) {
        throw new IllegalArgumentException(
            ("%s: the blocks of the arrays that further columns tell apart cover different parts"
                    + " along %s; expected one part (take the arrays apart)")
                .formatted(operator, kind.offsetColumns().get(axis)));
      }
      if (low < 0) {
        throw new IllegalArgumentException(
            "%s: a block starts at %s %d; expected 0 or more"
                .formatted(operator, kind.offsetColumns().get(axis), low));
      }
      // The reader of a block outside the array reports it.
      int at = axis;
      reach[axis] = frame.extents().map(extents -> Math.min(end, extents.extent(at))).orElse(end);
      low = Math.min(low, reach[axis] - 1);
      ranges.add(new AxisRange(low, 1, reach[axis] - low));
    }
    BlockFrame within =
        frame.extents().isPresent()
            ? frame
            : frame.stating(frame.metadata().stating(StatedExtents.of(Shape.of(reach))));
    return sliced(within, new Slice(ranges));
  }

  /**
   * The blocks of {@code input} in a plan that states their extents. Holes are not checked here.
   *
   * @param asDataset as for {@link #slice}
   * @throws IllegalArgumentException if it has no blocks of this kind, or its arrays have different
   *     extents
   */
  static BlockFrame operand(
      LogicalPlan input,
      BlockKind kind,
      Function<LogicalPlan, Dataset<Row>> asDataset,
      String operator) {
    return KnownOperand.of(input, kind, Missing.ZERO, asDataset, operator)
        .requireElements()
        .frame();
  }

  /** The shape of the result's full blocks; empty if they are no regular grid, or not known. */
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
