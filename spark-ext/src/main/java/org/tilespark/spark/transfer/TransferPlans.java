package org.tilespark.spark.transfer;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.types.Metadata;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.block.StatedExtents;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.numpy.NpyType;
import scala.collection.immutable.Seq;

/**
 * The logical plans of packing and unpacking: Spark's own projections, so that Spark moves filters
 * below them and prunes unused columns.
 */
public final class TransferPlans {
  private TransferPlans() {}

  /**
   * These rows, with the elements of each block as bytes in a column {@code data} in the place of
   * {@code values} and {@code imag}. Its metadata is that of {@code values}, with the type of the
   * elements as {@code tilespark.fileType}.
   *
   * @param dtype type of the elements; by default the type that the metadata states, if it fits the
   *     columns, otherwise the columns' own
   * @throws IllegalArgumentException if {@code input} has no blocks of this kind, or has a column
   *     {@code data} already, or they cannot be converted to {@code dtype}
   */
  public static LogicalPlan pack(
      LogicalPlan input, BlockKind kind, Optional<NpyType> dtype, String operator) {
    BlockFrame frame = BlockFrame.of(input, kind, operator);
    BlockSchema blocks = frame.blocks();
    refuse(frame.columns(), BlockKind.DATA, operator);
    ArrayMetadata metadata = frame.metadata();
    NpyType type = NpyType.ofBlocks(blocks, metadata, dtype, operator + ": dtype");
    PackedBlocks packed = PackedBlocks.of(blocks, type, operator, frame.extents());
    List<NamedExpression> list = new ArrayList<>(frame.columns());
    list.set(
        blocks.values(),
        Attributes.alias(
            new PackBlock(packed, dtype.isEmpty(), ScalaInterop.<Expression>seq(frame.block())),
            BlockKind.DATA,
            metadata.withFileType(type.descr()).toMetadata()));
    if (blocks.isComplex()) {
      list.remove(blocks.planes().get(1).intValue());
    }
    return new Project(ScalaInterop.seq(list), input);
  }

  /**
   * These rows, with blocks of {@code values} and {@code imag} in the place of the packed elements
   * in a column {@code data}: the inverse of {@link #pack}. Types are widened as {@code
   * format("npy")} does, and {@code values} gets the metadata of {@code data}, with the extents and
   * block shape that are given.
   *
   * @param dtype type of the elements; by default the type that the metadata of {@code data} states
   * @param extents extents of the whole array in place of those that the metadata states
   * @param blockShape elements per axis of a full block, which the metadata then states
   * @throws IllegalArgumentException if {@code input} has no packed blocks of this kind, or has a
   *     column {@code values} or {@code imag} already, or an argument cannot be read
   */
  public static LogicalPlan unpack(
      LogicalPlan input,
      BlockKind kind,
      Optional<NpyType> dtype,
      Optional<StatedExtents> extents,
      Optional<Shape> blockShape,
      String operator) {
    List<Attribute> columns = ScalaInterop.list(input.output());
    BlockSchema bytes = BlockSchema.findPacked(input.schema(), kind, operator);
    int data = bytes.values();
    refuse(columns, BlockKind.VALUES, operator);
    refuse(columns, BlockKind.IMAG, operator);
    ArrayMetadata ofData = ArrayMetadata.of(columns.get(data).metadata());
    ArrayMetadata known = extents.map(ofData::stating).orElse(ofData);
    NpyType type = dtype.orElseGet(() -> stated(known, operator));
    ArrayMetadata metadata =
        withShape(known, kind, blockShape, operator).withFileType(type.descr());
    BlockSchema blocks = bytes.withElementType(type.columnType());
    PackedBlocks packed = PackedBlocks.of(blocks, type, operator, metadata.extents(kind.rank()));
    Seq<Expression> children = children(blocks, columns);
    List<NamedExpression> list = new ArrayList<>(columns);
    list.set(
        data,
        Attributes.alias(
            new UnpackBlock(packed, 0, children), BlockKind.VALUES, metadata.toMetadata()));
    if (type.isComplex()) {
      list.add(
          data + 1,
          Attributes.alias(new UnpackBlock(packed, 1, children), BlockKind.IMAG, Metadata.empty()));
    }
    return new Project(ScalaInterop.seq(list), input);
  }

  private static NpyType stated(ArrayMetadata metadata, String operator) {
    String stated =
        metadata
            .fileType()
            .orElseThrow(
                () ->
                    new IllegalArgumentException(
                        ("%s: dtype is not given, and column %s has no metadata %s;"
                                + " expected dtype, as in dtype => 'float32'")
                            .formatted(operator, BlockKind.DATA, ArrayMetadata.FILE_TYPE)));
    return NpyType.parseLittleEndian(
        operator + ": dtype is not given, and the column metadata " + ArrayMetadata.FILE_TYPE,
        stated);
  }

  /** The metadata with what a source knows of the whole array: its axes, and the blocks' shape. */
  private static ArrayMetadata withShape(
      ArrayMetadata metadata, BlockKind kind, Optional<Shape> blockShape, String operator) {
    int rank = kind.rank();
    ArrayMetadata known =
        metadata.axes().isPresent() ? metadata : metadata.withAxes("xyz".substring(0, rank));
    if (blockShape.isEmpty()) {
      return known;
    }
    long[] shape = blockShape.get().toArray();
    Optional<Shape> extents = known.extents(rank);
    for (int axis = 0; axis < rank; axis++) {
      if (shape[axis] < 1) {
        throw new IllegalArgumentException(
            "%s: blockShape is '%s'; expected %s whole numbers of 1 or more"
                .formatted(operator, blockShape.get().text(), rank));
      }
      if (extents.isPresent()) { // blocks are clipped to the extents, as by a source
        shape[axis] = Math.max(1, Math.min(shape[axis], extents.get().extent(axis)));
      }
    }
    return known.withBlockShape(Shape.of(shape));
  }

  /** The block's own columns, in the order that {@link PackedBlocks#of} expects. */
  private static Seq<Expression> children(BlockSchema blocks, List<Attribute> columns) {
    return ScalaInterop.<Expression>seq(blocks.blockColumns().stream().map(columns::get).toList());
  }

  private static void refuse(List<Attribute> columns, String name, String operator) {
    for (Attribute column : columns) {
      if (column.name().equalsIgnoreCase(name)) {
        throw new IllegalArgumentException(
            ("%s: the input has a column %s already, which the result would have"
                    + " twice; drop or rename it")
                .formatted(operator, column.name()));
      }
    }
  }
}
