package org.tilespark.spark.transfer;

import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.spark.block.ArrayValues;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.catalyst.BlockExpression;
import org.tilespark.spark.error.ErrorBoundary;
import org.tilespark.spark.numpy.NpyEncoder;
import org.tilespark.spark.rows.RowCheck;
import scala.collection.immutable.Seq;

/**
 * A block's elements as numpy lays them out in memory: C order, little-endian, parts of complex
 * elements next to each other. One copy, directly from the array. Children: the block.
 */
public final class PackBlock extends BlockExpression {
  private final PackedBlocks blocks;
  private final boolean exact;

  /**
   * A constructor for Catalyst and {@link TransferPlans}.
   *
   * @param exact true if a value that has to be rounded is an error
   */
  public PackBlock(PackedBlocks blocks, Boolean exact, Seq<Expression> children) {
    super(children);
    this.blocks = blocks;
    this.exact = exact;
  }

  @Override
  public Object eval(InternalRow input) {
    InternalRow row = PackedBlocks.row(childList(), childList().size(), input);
    return ErrorBoundary.BLOCKS.call(() -> pack(row));
  }

  private byte[] pack(InternalRow row) {
    BlockSchema arguments = blocks.arguments();
    RowCheck.check(arguments, blocks.operator(), blocks.extents(), row);
    int count = row.getArray(arguments.values()).numElements();
    byte[] data = new byte[blocks.bytes(count, blocks.type().elementBytes(), row)];
    HostMemory elements = HostMemory.ofArray(data);
    NpyEncoder encoder = new NpyEncoder(arguments.elementType(), blocks.type(), exact);
    List<Integer> planes = arguments.planes();
    for (int part = 0; part < planes.size(); part++) {
      ArrayData array = row.getArray(planes.get(part));
      HostMemory numbers = ArrayValues.memory(array, arguments.elementType());
      long bad = encoder.encode(numbers, elements, part);
      if (bad >= 0) {
        throw blocks.bad(
            row,
            encoder.misfit(
                    numbers, part, bad, blocks.offset(row), blocks.size(row), "another dtype")
                + "; in Python tilespark.astype(x, dtype) truncates and wraps, as numpy does");
      }
    }
    return data;
  }

  @Override
  public DataType dataType() {
    return DataTypes.BinaryType;
  }

  @Override
  protected List<Object> fields() {
    return List.of(blocks, exact);
  }
}
