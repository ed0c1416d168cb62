package org.tilespark.spark.rows;

import java.util.List;
import java.util.function.IntFunction;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.StructType;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.Box;
import org.tilespark.spark.block.BlockSchema;

/**
 * Rows of blocks, several at a time, that wait for their values, for example from a device. They
 * are in the memory of the {@link RowSink} if there is one, otherwise in buffers. Created when a
 * task opens, and used by its thread; closed after all writers of values.
 */
public final class PendingRows implements AutoCloseable {
  private final BlockRowBuilder builder;
  private final PendingRowMemory memory;

  /**
   * Rows of one schema; the parameters are those of {@link BlockRowBuilder}.
   *
   * @param allocator allocator of the buffers; borrowed
   */
  public PendingRows(
      StructType schema,
      BlockSchema blocks,
      int[] keys,
      IntFunction<Expression> carried,
      BufferAllocator allocator) {
    this.memory = new PendingRowMemory(allocator);
    this.builder = new BlockRowBuilder(schema, blocks, keys, carried, memory);
  }

  /**
   * A row that was begun.
   *
   * @param row the row; valid until this is closed
   * @param planes memory for the values of each plane, outside the heap
   * @param end ends the use of the row's memory
   */
  public record PendingRow(UnsafeRow row, List<HostMemory> planes, Runnable end)
      implements AutoCloseable {
    @Override
    public void close() {
      end.run();
    }
  }

  /**
   * Begins the row of the block at {@code place}.
   *
   * @param carried row from which the carried columns are read
   * @param isFinal true if the row is not changed after it was given out
   * @throws IllegalArgumentException if the row would have 2 GiB or more
   */
  public PendingRow begin(UnsafeRow carried, Box place, boolean isFinal) {
    builder.rowsAreFinal(isFinal);
    long[] low = place.offset();
    long[] high = new long[low.length];
    for (int axis = 0; axis < high.length; axis++) {
      high[axis] = place.high(axis);
    }
    builder.carry(carried);
    List<HostMemory> planes = List.of(builder.begin(low, high));
    return memory.begun(builder.row(), planes);
  }

  /** Frees the buffers, and ends the use of the sink's memory. */
  @Override
  public void close() {
    memory.close();
  }
}
