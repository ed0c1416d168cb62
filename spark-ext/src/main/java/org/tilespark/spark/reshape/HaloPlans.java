package org.tilespark.spark.reshape;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.tilespark.layout.AxisImages;
import org.tilespark.layout.Edge;
import org.tilespark.layout.Images;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.Halo;
import org.tilespark.spark.block.KnownOperand;
import org.tilespark.spark.block.Widths;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.reblock.ReblockPlans;
import org.tilespark.spark.rows.BlockArguments;
import scala.collection.immutable.Seq;

/**
 * The logical plans of blocks that overlap their neighbours, which need an exchange, and of blocks
 * without their halo, which need a projection.
 */
public final class HaloPlans {
  private HaloPlans() {}

  /**
   * The array in blocks with a halo, which has elements of neighbouring blocks.
   *
   * @param edge contents of the halo beyond the array
   * @param asDataset turns a plan into a DataFrame
   * @param operator operator's name, for messages
   * @throws IllegalArgumentException if {@code input} has no blocks of this kind, or arrays of
   *     different extents; or if blocks end at the array's end and are so small that their halo
   *     could not be determined later
   */
  public static LogicalPlan halo(
      LogicalPlan input,
      BlockKind kind,
      Widths widths,
      Edge edge,
      Function<LogicalPlan, Dataset<Row>> asDataset,
      String operator) {
    KnownOperand operand = KnownOperand.of(input, kind, Missing.ERROR, asDataset, operator);
    Shape extents = operand.extents();
    long[] cells = ReblockPlans.shapeLike(operand, extents);
    List<AxisImages> axes = new ArrayList<>();
    for (int axis = 0; axis < cells.length; axis++) {
      long before = widths.before().get(axis);
      if (edge == Edge.NONE && before >= cells[axis] && extents.extent(axis) > cells[axis]) {
        throw new IllegalArgumentException(
            ("%s: a halo of %s elements before blocks of %s along %s, which end where the array"
                    + " does; expected a halo of less than a block, or an edge that is not 'none'."
                    + " Re-block before, or take another edge")
                .formatted(operator, before, cells[axis], kind.offsetColumns().get(axis)));
      }
      axes.add(
          AxisImages.haloed(
              extents.extent(axis), before, widths.after().get(axis), edge, cells[axis]));
    }
    LogicalPlan blocks =
        operand.isEmpty()
            ? operand.plan()
            : ReblockPlans.images(operand.plan(), kind, new Images(axes, 0), operator);
    return stating(
        BlockFrame.of(blocks, kind, operator), new Halo(widths, edge, extents, Shape.of(cells)));
  }

  /** The blocks with a halo, which the metadata of their values and places state. */
  private static Project stating(BlockFrame frame, Halo halo) {
    List<NamedExpression> list = new ArrayList<>(frame.columns());
    List<Integer> stated = new ArrayList<>(frame.blocks().offsets());
    stated.add(frame.blocks().values());
    for (int position : stated) {
      Attribute column = frame.columns().get(position);
      list.set(
          position,
          Attributes.alias(
              column,
              column.name(),
              ArrayMetadata.of(column.metadata()).withHalo(Optional.of(halo)).toMetadata()));
    }
    return new Project(ScalaInterop.seq(list), frame.plan());
  }

  /**
   * Removes the halo of each block, without an exchange.
   *
   * @param given the halo's widths, for blocks without metadata
   * @param operator operator's name, for messages
   * @throws IllegalArgumentException if {@code input} has no blocks of this kind, or neither
   *     metadata nor {@code given} states the halo's widths, or they differ
   */
  public static LogicalPlan trim(
      LogicalPlan input, BlockKind kind, Optional<Widths> given, String operator) {
    BlockFrame frame = BlockFrame.maybeHaloed(input, kind, operator);
    Halo halo = halo(frame, given);
    ArrayMetadata known = frame.metadata().withHalo(Optional.empty());
    if (halo.extents().isDefined()) {
      known = known.withExtents(halo.extents().get()).withBlockShape(halo.blockShape().get());
    }
    List<NamedExpression> list = new ArrayList<>(frame.columns());
    for (int axis = 0; axis < kind.rank(); axis++) {
      Attribute offset = frame.offset(axis);
      Attribute size = frame.size(axis);
      Seq<Expression> place = ScalaInterop.<Expression>seq(List.of(offset, size));
      list.set(
          frame.blocks().offsets().get(axis),
          Attributes.alias(new TrimmedPlace(halo, axis, false, place), offset.name()));
      list.set(
          frame.blocks().sizes().get(axis),
          Attributes.alias(new TrimmedPlace(halo, axis, true, place), size.name()));
    }
    BlockArguments arguments =
        BlockArguments.of(
            frame.blocks().withHalo(halo), frame.operator(), frame.extents(), Missing.ERROR);
    for (int plane = 0; plane < frame.blocks().planes().size(); plane++) {
      int position = frame.blocks().planes().get(plane);
      Attribute values = frame.columns().get(position);
      list.set(
          position,
          Attributes.alias(
              new TrimBlock(arguments, plane, ScalaInterop.<Expression>seq(frame.block())),
              values.name(),
              plane == 0 ? known.toMetadata() : values.metadata()));
    }
    return new Project(ScalaInterop.seq(list), input);
  }

  private static Halo halo(BlockFrame frame, Optional<Widths> given) {
    Optional<Halo> stated = Optional.ofNullable(frame.blocks().halo().getOrElse(() -> null));
    if (stated.isPresent() && given.isPresent() && !stated.get().widths().equals(given.get())) {
      throw new IllegalArgumentException(
          "%s: widths are '%s', the column metadata %s says '%s'; expected the same, or none"
              .formatted(frame.operator(), given.get(), ArrayMetadata.HALO, stated.get().widths()));
    }
    return stated
        .or(() -> given.map(Halo::ofWidths))
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    ("%s: the blocks have no halo by their column metadata %s, of values and"
                            + " places; expected blocks that halo made. State the widths if the"
                            + " metadata was lost")
                        .formatted(frame.operator(), ArrayMetadata.HALO)));
  }
}
