package org.tilespark.spark.multiply;

import java.util.List;
import java.util.Optional;
import java.util.function.ToIntFunction;
import java.util.stream.IntStream;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.types.DataTypes;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.exchange.BlockPartitioning;
import org.tilespark.spark.multiply.MultiplyBlocks.Column;
import org.tilespark.spark.multiply.cost.Bands;
import org.tilespark.spark.multiply.cost.MultiplyShape.Axis;

/**
 * An operand of a product whose partitions could be cuboids. The partitioning found here is what
 * Spark should find when it plans shuffles; if Spark disagrees, it shuffles, and the result is the
 * same.
 *
 * @param right true if the operand is B
 * @param axis axis along which the partitions differ
 * @param bands the bands of the axis, and their partitions
 * @param partitioning partitioning of its blocks, in terms of the operand's columns
 */
record PartitionedOperand(boolean right, Axis axis, Bands bands, BlockPartitioning partitioning) {
  /** Most bands: the partition of each one is computed, and sent to executors with the plan. */
  private static final int MOST_BANDS = 1 << 17;

  /**
   * An operand that is already partitioned along one axis, and whose blocks all begin at multiples
   * of their extents; else empty.
   */
  static Optional<PartitionedOperand> of(
      SparkContext context, MultiplyBlocks product, boolean right) {
    MultiplySpec spec = product.spec();
    MultiplySpec.Side side = spec.side(right);
    if (spec.groups() > 0 || !side.stated() || spec.k() == 0) {
      return Optional.empty();
    }
    long outerExtent = right ? spec.n() : spec.m();
    if (side.outer() >= outerExtent && side.inner() >= spec.k()) {
      return Optional.empty(); // the operand is one block, in any partition
    }
    int operand = right ? 1 : 0;
    Optional<BlockPartitioning> found =
        BlockPartitioning.of(context, product.operands().get(operand));
    if (found.isEmpty() || found.get().partitions() < 2) {
      return Optional.empty();
    }
    BlockPartitioning partitioning = found.get();
    List<Attribute> inputs = product.inputs(operand);
    boolean innerIsRow = spec.innerIsRow(right);
    Attribute outer = inputs.get((innerIsRow ? Column.COL : Column.ROW).ordinal());
    Attribute inner = inputs.get((innerIsRow ? Column.ROW : Column.COL).ordinal());
    List<Attribute> used = partitioning.columns();
    for (Attribute attribute : used) {
      if (Attributes.indexOf(List.of(outer, inner), attribute) < 0) {
        return Optional.empty();
      }
    }
    boolean alongOuter = Attributes.indexOf(used, outer) >= 0 && side.outer() < outerExtent;
    boolean alongInner = Attributes.indexOf(used, inner) >= 0 && side.inner() < spec.k();
    if (alongOuter == alongInner) {
      return Optional.empty(); // not partitioned along exactly one axis
    }
    long length = alongOuter ? side.outer() : side.inner();
    long extent = alongOuter ? outerExtent : spec.k();
    if ((extent - 1) / length >= MOST_BANDS) {
      return Optional.empty();
    }
    Bands bands =
        new Bands(
            length,
            extent,
            partitions(
                partitioning,
                alongOuter ? outer : inner,
                alongOuter ? inner : outer,
                length,
                extent));
    Axis axis = alongInner ? Axis.K : right ? Axis.N : Axis.M;
    return Optional.of(new PartitionedOperand(right, axis, bands, partitioning));
  }

  /**
   * The partitioning of C's blocks if cuboids are in the partitions of this operand's blocks, in
   * terms of the product's output; empty unless C's blocks begin at the same places along the axis.
   */
  Optional<BlockPartitioning> partitioningOfC(MultiplyBlocks product) {
    MultiplySpec spec = product.spec();
    long length = right ? spec.blockCols() : spec.blockRows();
    if (axis == Axis.K || length != spec.side(right).outer()) {
      return Optional.empty();
    }
    Column inOperand = spec.innerIsRow(right) ? Column.COL : Column.ROW;
    Attribute outer = product.inputs(right ? 1 : 0).get(inOperand.ordinal());
    Attribute place = product.produced().get((right ? Column.COL : Column.ROW).ordinal());
    return partitioning.renamed(
        attribute ->
            Optional.of(
                attribute.exprId().equals(outer.exprId())
                    ? place
                    : new Literal(0L, DataTypes.LongType))); // all blocks begin at 0 along K
  }

  /** The partition of each band, by the expression with which Spark partitions. */
  private static int[] partitions(
      BlockPartitioning partitioning, Attribute along, Attribute across, long length, long extent) {
    ToIntFunction<InternalRow> partitionOf =
        partitioning.bound(List.of(along, across)).partitionOf();
    return IntStream.rangeClosed(0, (int) ((extent - 1) / length))
        .mapToObj(band -> new GenericInternalRow(new Object[] {band * length, 0L}))
        .mapToInt(partitionOf)
        .toArray();
  }
}
