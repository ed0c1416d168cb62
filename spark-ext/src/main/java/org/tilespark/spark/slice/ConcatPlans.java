package org.tilespark.spark.slice;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.types.DataTypes;
import org.tilespark.arrow.blocks.ArrayProgram;
import org.tilespark.arrow.blocks.Embed;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.block.GroupingColumns;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.reblock.SameArrays;
import org.tilespark.spark.stage.ProgramBlocks;

/**
 * Makes the logical plans of concatenated arrays: a union of the frames, after their blocks got
 * their places in the result.
 */
public final class ConcatPlans {
  private static final List<String> ORDINALS = List.of("first", "second");

  private final BlockKind kind;
  private final int axis;
  private final String operator;
  // Frames of the arrays, which state their extents
  private final List<BlockFrame> frames = new ArrayList<>();

  private ConcatPlans(BlockKind kind, int axis, String operator) {
    this.kind = kind;
    this.axis = axis;
    this.operator = operator;
  }

  /**
   * Concatenates arrays along an axis.
   *
   * @param inputs the arrays
   * @param asDataset turns a plan into a DataFrame; extents that no metadata states are found by a
   *     small aggregate over the coordinates, which runs now
   * @throws IllegalArgumentException if the arrays do not fit each other; the message says why
   */
  public static LogicalPlan concat(
      List<LogicalPlan> inputs,
      BlockKind kind,
      int axis,
      Function<LogicalPlan, Dataset<Row>> asDataset,
      String operator) {
    ConcatPlans plans = new ConcatPlans(kind, axis, operator);
    for (LogicalPlan input : inputs) {
      String which = operator + ", " + plans.name(plans.frames.size());
      plans.frames.add(SlicePlans.operand(input, kind, asDataset, which));
    }
    return plans.union();
  }

  /**
   * Stacks matrices as the planes of a volume along its first axis.
   *
   * @param inputs the matrices
   * @param asDataset as for {@link #concat}
   * @throws IllegalArgumentException if the matrices do not fit each other; the message says why
   */
  public static LogicalPlan stack(
      List<LogicalPlan> inputs, Function<LogicalPlan, Dataset<Row>> asDataset, String operator) {
    ConcatPlans plans = new ConcatPlans(BlockKind.VOLUME, 0, operator);
    for (LogicalPlan input : inputs) {
      int index = plans.frames.size();
      BlockFrame matrix =
          SlicePlans.operand(
              input, BlockKind.MATRIX, asDataset, operator + ", " + name(BlockKind.MATRIX, index));
      plans.frames.add(asPlane(matrix, operator));
    }
    return plans.frames.size() == 1 ? plans.frames.get(0).plan() : plans.union();
  }

  /** A matrix as a volume of extent 1 along x. */
  private static BlockFrame asPlane(BlockFrame matrix, String operator) {
    BlockSchema blocks = matrix.blocks();
    ArrayMetadata known = matrix.metadata();
    Shape extents = matrix.extents().orElseThrow();
    ArrayMetadata metadata =
        known
            .withExtents(Shape.of(1, extents.extent(0), extents.extent(1)))
            .withSpectrum(Optional.empty())
            .withoutAxes();
    Optional<Shape> shape = matrix.blockShape();
    metadata =
        shape.isPresent()
            ? metadata.withBlockShape(Shape.of(1, shape.get().extent(0), shape.get().extent(1)))
            : metadata.withoutBlockShape();
    List<NamedExpression> columns = new ArrayList<>();
    columns.add(Attributes.alias(new Literal(0L, DataTypes.LongType), "x"));
    columns.add(Attributes.alias(matrix.offset(0), "y"));
    columns.add(Attributes.alias(matrix.offset(1), "z"));
    columns.add(Attributes.alias(new Literal(1, DataTypes.IntegerType), "nx"));
    columns.add(Attributes.alias(matrix.size(0), "ny"));
    columns.add(Attributes.alias(matrix.size(1), "nz"));
    columns.add(Attributes.alias(matrix.values(), BlockKind.VALUES, metadata.toMetadata()));
    if (blocks.isComplex()) {
      columns.add(Attributes.alias(matrix.columns().get(blocks.planes().get(1)), BlockKind.IMAG));
    }
    columns.addAll(matrix.further());
    return BlockFrame.of(
        new Project(ScalaInterop.seq(columns), matrix.plan()), BlockKind.VOLUME, operator);
  }

  private LogicalPlan union() {
    BlockFrame first = frames.get(0);
    long[] total = first.extents().orElseThrow().toArray();
    for (int i = 1; i < frames.size(); i++) {
      requireFits(i);
      total[axis] = Math.addExact(total[axis], extent(i));
    }
    Shape shape = Shape.of(total);
    ArrayMetadata metadata = metadata(shape);
    List<LogicalPlan> branches = new ArrayList<>();
    long low = 0;
    for (int i = 0; i < frames.size(); i++) {
      branches.add(branch(frames.get(i), shape, low, metadata));
      low += extent(i);
    }
    LogicalPlan all = new Union(ScalaInterop.seq(branches), false, false);
    for (int i = 1; i < frames.size(); i++) {
      all = SameArrays.required(all, first, frames.get(i), operator);
    }
    return all;
  }

  private long extent(int frame) {
    return frames.get(frame).extents().orElseThrow().extent(axis);
  }

  /** The blocks of an array at their places in the result, with the columns of the first one. */
  private LogicalPlan branch(BlockFrame frame, Shape shape, long low, ArrayMetadata metadata) {
    List<Long> lows = new ArrayList<>(Collections.nCopies(kind.rank(), 0L));
    lows.set(axis, low);
    List<NamedExpression> columns = new ArrayList<>();
    for (Attribute column : frames.get(0).columns()) {
      columns.add(GroupingColumns.named(frame.columns(), column).orElseThrow());
    }
    LogicalPlan ordered =
        columns.equals(frame.columns())
            ? frame.plan()
            : new Project(ScalaInterop.seq(columns), frame.plan());
    return ProgramBlocks.of(
        ordered,
        kind,
        new ArrayProgram(
            frame.extents().orElseThrow(),
            frame.blocks().elementType(),
            frame.blocks().isComplex(),
            List.of(new Embed(shape, lows))),
        metadata.toMetadata(),
        Optional.empty(),
        Missing.ERROR,
        operator);
  }

  /** The metadata of the result: what all arrays state alike, and the extents of the result. */
  private ArrayMetadata metadata(Shape shape) {
    ArrayMetadata known =
        ArrayMetadata.agreed(frames.stream().map(BlockFrame::metadata).toList())
            .withExtents(shape)
            .withSpectrum(Optional.empty());
    Optional<Shape> blockShape = blockShape();
    return blockShape.isPresent()
        ? known.withBlockShape(blockShape.get())
        : known.withoutBlockShape();
  }

  /**
   * The shape of the result's full blocks, if its blocks make a regular grid: only the last array
   * may end in smaller blocks.
   */
  private Optional<Shape> blockShape() {
    Optional<Shape> first = frames.get(0).blockShape();
    if (first.isEmpty()) {
      return first;
    }
    long[] shape = first.get().toArray();
    for (int i = 0; i < frames.size(); i++) {
      Optional<Shape> own = frames.get(i).blockShape();
      if (own.isEmpty()) {
        return Optional.empty();
      }
      for (int each = 0; each < shape.length; each++) {
        boolean isSame = own.get().extent(each) == shape[each];
        boolean isLast = i == frames.size() - 1;
        boolean isRest = isLast && extent(i) <= shape[axis] && own.get().extent(axis) >= extent(i);
        if (each != axis
            ? !isSame
            : !isRest && (!isSame || (!isLast && extent(i) % shape[axis] != 0))) {
          return Optional.empty();
        }
      }
    }
    return Optional.of(Shape.of(shape));
  }

  // ---- what does not fit

  private void requireFits(int index) {
    BlockFrame first = frames.get(0);
    BlockFrame other = frames.get(index);
    if (!typeOf(first).equals(typeOf(other))) {
      throw bad(
          index, "values are " + typeOf(first), "are " + typeOf(other), "one type (CAST one)");
    }
    Shape extents = first.extents().orElseThrow();
    Shape others = other.extents().orElseThrow();
    boolean areSame =
        IntStream.range(0, kind.rank())
            .allMatch(each -> each == axis || extents.extent(each) == others.extent(each));
    if (!areSame) {
      throw bad(
          index,
          "extents are " + extents,
          "are " + others,
          "the same along all axes but " + kind.offsetColumns().get(axis));
    }
    boolean haveSame =
        first.columns().size() == other.columns().size()
            && first.columns().stream()
                .allMatch(
                    column ->
                        GroupingColumns.named(other.columns(), column)
                            .filter(found -> found.dataType().sameType(column.dataType()))
                            .isPresent());
    if (!haveSame) {
      throw bad(
          index,
          "further columns are (" + text(first) + ")",
          "are (" + text(other) + ")",
          "the same names and types");
    }
  }

  private IllegalArgumentException bad(int index, String first, String other, String expected) {
    return new IllegalArgumentException(
        "%s: the %s's %s, the %s's %s; expected %s"
            .formatted(operator, name(0), first, name(index), other, expected));
  }

  private static String typeOf(BlockFrame frame) {
    return (frame.blocks().isComplex() ? "complex " : "") + frame.values().dataType().sql();
  }

  private static String text(BlockFrame frame) {
    return GroupingColumns.text(List.of(Attributes.schema(frame.further()).fields()));
  }

  private String name(int index) {
    return name(kind, index);
  }

  private static String name(BlockKind kind, int index) {
    return ORDINALS.get(index) + " " + kind.label();
  }
}
