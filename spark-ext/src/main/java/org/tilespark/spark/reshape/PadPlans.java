package org.tilespark.spark.reshape;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.tilespark.layout.AxisImages;
import org.tilespark.layout.Edge;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Images;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.KnownOperand;
import org.tilespark.spark.block.Widths;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.reblock.ReblockPlans;

/** The logical plans of arrays that are padded or rolled, of matrices and volumes alike. */
public final class PadPlans {
  private PadPlans() {}

  /**
   * The array with elements added before and after each axis.
   *
   * @param asDataset turns a plan into a DataFrame
   * @param operator operator's name, for messages
   * @throws IllegalArgumentException if {@code input} has no blocks of this kind, or arrays of
   *     different extents; if its type cannot represent the value; or if an axis without elements
   *     would have to be continued
   */
  public static LogicalPlan pad(
      LogicalPlan input,
      BlockKind kind,
      Padding padding,
      Function<LogicalPlan, Dataset<Row>> asDataset,
      String operator) {
    KnownOperand operand =
        KnownOperand.of(input, kind, Missing.ERROR, asDataset, operator).withoutSpectrum();
    if (operand.isNothing()) {
      return operand.plan();
    }
    if (padding.mode() == Edge.CONSTANT) {
      requireHeld(padding.value(), operand.frame(), operator);
    } else if (operand.isEmpty()) {
      throw new IllegalArgumentException(
          "%s: the array of extents %s has no elements to go on with by mode %s; expected 'constant'"
              .formatted(operator, operand.extents(), padding.mode()));
    }
    Widths widths = padding.widths();
    long[] target = operand.extents().toArray();
    for (int axis = 0; axis < target.length; axis++) {
      target[axis] += widths.before().get(axis) + widths.after().get(axis);
    }
    if (widths.areZero()) {
      return ReblockPlans.unchanged(operand);
    }
    long[] cells = ReblockPlans.usualShape(operand, Shape.of(target));
    List<AxisImages> axes = new ArrayList<>();
    for (int axis = 0; axis < target.length; axis++) {
      axes.add(
          AxisImages.padded(
              operand.extents().extent(axis),
              widths.before().get(axis),
              widths.after().get(axis),
              padding.mode(),
              cells[axis]));
    }
    return ReblockPlans.images(operand.plan(), kind, new Images(axes, padding.value()), operator);
  }

  /**
   * The elements around an array.
   *
   * @param mode way in which the array is continued; not {@link Edge#NONE}
   * @param value value of the added elements, with {@link Edge#CONSTANT}
   */
  public record Padding(Widths widths, Edge mode, double value) {}

  /**
   * The array with every element moved cyclically by {@code by} places.
   *
   * @param by number of places along each axis, of any sign
   * @param asDataset turns a plan into a DataFrame
   * @param operator operator's name, for messages
   * @throws IllegalArgumentException if {@code input} has no blocks of this kind, or arrays of
   *     different extents
   */
  public static LogicalPlan roll(
      LogicalPlan input,
      BlockKind kind,
      List<Long> by,
      Function<LogicalPlan, Dataset<Row>> asDataset,
      String operator) {
    KnownOperand operand =
        KnownOperand.of(input, kind, Missing.ERROR, asDataset, operator).withoutSpectrum();
    long[] cells = ReblockPlans.usualShape(operand, operand.extents());
    List<AxisImages> axes = new ArrayList<>();
    for (int axis = 0; axis < cells.length; axis++) {
      axes.add(AxisImages.rolled(operand.extents().extent(axis), by.get(axis), cells[axis]));
    }
    return axes.stream().allMatch(axis -> axis.shift() == 0)
        ? ReblockPlans.unchanged(operand)
        : ReblockPlans.images(operand.plan(), kind, new Images(axes, 0), operator);
  }

  private static void requireHeld(double value, BlockFrame frame, String operator) {
    ElementType type = frame.blocks().elementType();
    boolean isTruth =
        type == ElementType.INT8
            && frame.metadata().fileType().equals(Optional.of(ArrayMetadata.BOOL));
    if (isTruth && value != 0 && value != 1) {
      throw new IllegalArgumentException(
          ("%s: value is %s, the array's elements are truth values; expected 0 or 1, or an array of"
                  + " numbers: map it by 'CAST(v AS TINYINT)' first")
              .formatted(operator, value));
    }
    boolean isHeld =
        switch (type) {
          case INT8 -> value == (byte) value;
          case INT16 -> value == (short) value;
          case INT32 -> value == (int) value;
          case INT64 -> value == (long) value && value < 0x1p63;
          case FLOAT32, FLOAT64 -> true;
        };
    if (!isHeld) {
      throw new IllegalArgumentException(
          "%s: value is %s, the array's elements are %s; expected a number that they can be"
              .formatted(operator, value, type));
    }
  }
}
