package org.tilespark.spark.reshape;

import java.util.ArrayList;
import java.util.Arrays;
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
import org.apache.spark.sql.types.Metadata;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.KnownOperand;
import org.tilespark.spark.block.UsualShape;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.reblock.ReblockPlans;
import scala.collection.immutable.Seq;

/**
 * The logical plan of an array in another shape, matrix or volume: the array is re-blocked so that
 * its blocks are blocks of the other shape too ({@link ReshapeCut}), and a projection gives them
 * their new places. Values keep their order within each block.
 */
public final class ReshapePlans {
  private ReshapePlans() {}

  /**
   * The array with its elements, in row-major order, in another shape.
   *
   * @param shape two extents for a matrix or three for a volume; one may be -1, and is then
   *     computed
   * @param asDataset turns a plan into a DataFrame
   * @param operator operator's name, for messages
   * @throws IllegalArgumentException if {@code input} has no blocks of this kind, or arrays of
   *     different extents; if the shape has another count of elements; if a further column has the
   *     name of a block column; or if no blocks of a useful size exist for both shapes
   */
  public static LogicalPlan reshape(
      LogicalPlan input,
      BlockKind kind,
      List<Long> shape,
      Function<LogicalPlan, Dataset<Row>> asDataset,
      String operator) {
    KnownOperand operand = KnownOperand.of(input, kind, Missing.ERROR, asDataset, operator);
    Shape source = operand.extents();
    Shape target = target(shape, source, operator);
    if (target.equals(source)) {
      return ReblockPlans.unchanged(operand);
    }
    if (operand.isEmpty()) {
      return moved(operand.frame(), source, target, Optional.empty());
    }
    long bytes =
        (long) operand.frame().blocks().elementType().bytes()
            * operand.frame().blocks().planes().size();
    long most = UsualShape.LARGE_BYTES / bytes;
    Shape like = Shape.of(ReblockPlans.usualShape(operand, source));
    Optional<ReshapeCut> cut = ReshapeCut.of(source, target, like, most);
    if (cut.isPresent()) {
      return moved(operand.frame(), source, target, cut);
    }
    // A vector can be cut anywhere, at the cost of one more exchange.
    Shape vector = Shape.of(1, source.elements());
    Optional<ReshapeCut> first = ReshapeCut.of(source, vector, like, most);
    Optional<ReshapeCut> then =
        first.flatMap(each -> ReshapeCut.of(vector, target, each.to(), most));
    if (then.isEmpty()) {
      throw new IllegalArgumentException(
          ("%s: from %s to %s no blocks of a useful size, below 256 MiB, are blocks in both shapes;"
                  + " expected shapes whose axes have divisors, or rows of either that are shorter")
              .formatted(operator, source, target));
    }
    LogicalPlan between = moved(operand.frame(), source, vector, first);
    return moved(BlockFrame.of(between, BlockKind.MATRIX, operator), vector, target, then);
  }

  private static Shape target(List<Long> shape, Shape source, String operator) {
    long elements = source.elements();
    long stated = 1;
    long open = 0;
    for (long extent : shape) {
      open += extent == -1 ? 1 : 0;
      stated = extent == -1 || extent < 0 ? stated : multiplied(stated, extent);
    }
    long[] target = new long[shape.size()];
    for (int axis = 0; axis < target.length; axis++) {
      long extent = shape.get(axis);
      target[axis] = extent == -1 && stated > 0 ? elements / stated : extent;
    }
    boolean isGood = open <= 1 && shape.stream().allMatch(extent -> extent >= -1);
    long found = 1;
    for (long extent : target) {
      isGood &= extent >= 0;
      found = multiplied(found, extent);
    }
    if (!isGood || found != elements) {
      throw new IllegalArgumentException(
          ("%s: shape %s for an array of extents %s; expected extents of %s elements, one of which"
                  + " may be -1")
              .formatted(operator, shape, source, elements));
    }
    return Shape.of(target);
  }

  private static long multiplied(long a, long b) {
    return a > 0 && b > Long.MAX_VALUE / a ? Long.MAX_VALUE : a * b;
  }

  /** The array in blocks of the cut, with their places in the other shape. */
  private static LogicalPlan moved(
      BlockFrame frame, Shape source, Shape target, Optional<ReshapeCut> cut) {
    BlockKind kind = target.rank() == 2 ? BlockKind.MATRIX : BlockKind.VOLUME;
    requireOtherNames(frame, kind);
    BlockFrame cutFrame =
        cut.map(
                each ->
                    BlockFrame.of(
                        ReblockPlans.reblock(
                            frame.plan(),
                            frame.kind(),
                            each.from().toArray(),
                            Missing.ERROR,
                            frame.operator()),
                        frame.kind(),
                        frame.operator()))
            .orElse(frame);
    int rank = frame.kind().rank();
    Seq<Expression> place = ScalaInterop.<Expression>seq(cutFrame.block().subList(0, 2 * rank));
    List<NamedExpression> list = new ArrayList<>();
    List<String> names = new ArrayList<>(kind.offsetColumns());
    names.addAll(kind.sizeColumns());
    for (int i = 0; i < names.size(); i++) {
      list.add(Attributes.alias(new ReshapedPlace(source, target, i, place), names.get(i)));
    }
    Metadata metadata =
        frame
            .metadata()
            .reshaped(target, cut.map(ReshapeCut::to).orElseGet(() -> noEmptyBlocks(target)))
            .toMetadata();
    for (int plane : cutFrame.blocks().planes()) {
      Attribute values = cutFrame.columns().get(plane);
      list.add(Attributes.alias(values, values.name(), metadata));
    }
    list.addAll(cutFrame.further());
    return new Project(ScalaInterop.seq(list), cutFrame.plan());
  }

  private static Shape noEmptyBlocks(Shape extents) {
    return Shape.of(Arrays.stream(extents.toArray()).map(extent -> Math.max(1, extent)).toArray());
  }

  /** Refuses further columns with the names of a block's own columns. */
  private static void requireOtherNames(BlockFrame frame, BlockKind kind) {
    List<String> own = new ArrayList<>(kind.offsetColumns());
    own.addAll(kind.sizeColumns());
    for (Attribute column : frame.further()) {
      if (own.stream().anyMatch(column.name()::equalsIgnoreCase)) {
        throw new IllegalArgumentException(
            "%s: further column %s has the name of a column of %s blocks; rename it"
                .formatted(frame.operator(), column.name(), kind.label()));
      }
    }
  }
}
