package org.tilespark.spark.transfer;

import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.block.ArrayValues;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.catalyst.BlockExpression;
import org.tilespark.spark.error.ErrorBoundary;
import org.tilespark.spark.numpy.NpyDecoder;
import org.tilespark.spark.numpy.NpyType;
import org.tilespark.spark.rows.RowCheck;
import scala.collection.immutable.Seq;

/**
 * One value array of a block, from its packed elements: the inverse of {@link PackBlock}. One copy,
 * directly from the bytes. Children: the block's offsets and sizes, then its data.
 */
public final class UnpackBlock extends BlockExpression {
  private final PackedBlocks blocks;
  private final int part;

  /**
   * A constructor for Catalyst and {@link TransferPlans}.
   *
   * @param part number of the array: 0 for {@code values}, 1 for {@code imag}
   */
  public UnpackBlock(PackedBlocks blocks, Integer part, Seq<Expression> children) {
    super(children);
    this.blocks = blocks;
    this.part = part;
  }

  @Override
  public Object eval(InternalRow input) {
    int dataAt = blocks.arguments().values();
    InternalRow row = PackedBlocks.row(childList(), dataAt, input);
    HostMemory data = bytes(childList().get(dataAt), input);
    return ErrorBoundary.BLOCKS.call(() -> unpack(row, data));
  }

  private UnsafeArrayData unpack(InternalRow row, HostMemory data) {
    BlockSchema arguments = blocks.arguments();
    NpyType type = blocks.type();
    long count = RowCheck.checkBox(arguments, blocks.operator(), blocks.extents(), row);
    int width = type.elementBytes();
    if (data == null) {
      throw blocks.bad(
          row, BlockKind.DATA + " is null; expected " + blocks.bytesText(count, row) + " bytes");
    }
    if (data.bytes() / width != count || data.bytes() % width != 0) {
      throw blocks.bad(
          row,
          "%s has %s bytes; expected %s of %s"
              .formatted(
                  BlockKind.DATA, data.bytes(), blocks.bytesText(count, row), type.numpyName()));
    }
    ElementType to = arguments.elementType();
    blocks.bytes(count, to.bytes(), row);
    UnsafeArrayData values = UnsafeArrayData.createFreshArray((int) count, to.bytes());
    NpyDecoder.decode(type, to, data, part, ArrayValues.memory(values, to));
    return values;
  }

  /** The bytes of a binary value, in place if possible; null if it is null. */
  private static HostMemory bytes(Expression child, InternalRow input) {
    if (child instanceof BoundReference column && input instanceof UnsafeRow row) {
      // Rows store binary values like strings, and give strings without a copy.
      UTF8String inPlace = row.getUTF8String(column.ordinal());
      return inPlace == null
          ? null
          : new HostMemory(inPlace.getBaseObject(), inPlace.getBaseOffset(), inPlace.numBytes());
    }
    byte[] bytes = (byte[]) child.eval(input);
    return bytes == null ? null : HostMemory.ofArray(bytes);
  }

  @Override
  public DataType dataType() {
    return DataTypes.createArrayType(
        BlockSchema.sparkType(blocks.arguments().elementType()), false);
  }

  @Override
  protected List<Object> fields() {
    return List.of(blocks, part);
  }
}
