package org.tilespark.spark.rows;

import java.util.List;
import java.util.Optional;
import java.util.function.IntFunction;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.StructType;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.Box;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.catalyst.ExchangeInput;

/**
 * Rows of blocks that are made several at a time while others, a device for one, write their
 * values: where an exchange keeps rows, if the node's rows go into one directly, else in buffers.
 * Made when a task opens, and used by its thread; closed after all who write values.
 */
public final class KeptRows implements AutoCloseable {
  private final BlockRowBuilder builder;
  private final Space space;

  /**
   * Rows of one schema; the parameters are those of {@link BlockRowBuilder}.
   *
   * @param allocator of the buffers; borrowed
   */
  public KeptRows(
      StructType schema,
      BlockSchema blocks,
      int[] keys,
      IntFunction<Expression> carried,
      BufferAllocator allocator) {
    this.space = new Space(allocator);
    this.builder = new BlockRowBuilder(schema, blocks, keys, carried, space);
  }

  /**
   * A row.
   *
   * @param row valid until this is closed
   * @param planes where the values of each plane go, outside the heap
   * @param buffer what holds the row; empty if an exchange does
   */
  public record Kept(UnsafeRow row, List<HostMemory> planes, Optional<ArrowBuf> buffer)
      implements AutoCloseable {
    @Override
    public void close() {
      buffer.ifPresent(ArrowBuf::close);
    }
  }

  /**
   * Begins a row of {@code place}.
   *
   * @param carried the row that carried columns are read from
   * @param isFinal true if nothing in the row is changed once it has been handed out
   * @throws IllegalArgumentException if the row would have 2 GiB or more
   */
  public Kept begin(UnsafeRow carried, Box place, boolean isFinal) {
    builder.rowsAreFinal(isFinal);
    long[] low = place.offset();
    long[] high = new long[low.length];
    for (int axis = 0; axis < high.length; axis++) {
      high[axis] = place.high(axis);
    }
    builder.carry(carried);
    List<HostMemory> planes = List.of(builder.begin(low, high));
    UnsafeRow made = builder.row();
    UnsafeRow row = new UnsafeRow(made.numFields());
    row.pointTo(made.getBaseObject(), made.getBaseOffset(), made.getSizeInBytes());
    return new Kept(row, planes, space.taken());
  }

  /** Ends the use of the exchange's memory. */
  @Override
  public void close() {
    space.close();
  }

  private static final class Space implements RowSpace {
    private final boolean isExchanged = ExchangeInput.isOpening();
    private final BufferAllocator allocator;
    private ExchangedRows.Room taker; // of the rows; null before the first that it takes
    private Runnable hold; // of its memory; null as long
    private ArrowBuf buffer; // of the row begun last; null if an exchange has it

    private Space(BufferAllocator allocator) {
      this.allocator = allocator;
    }

    /**
     * Who takes a row that is begun now. Not a cache that is being filled while this task's
     * exchange reads it: rows may be begun then, since other pipelines of a thread may ask for
     * results.
     */
    private Optional<ExchangedRows.Room> taker() {
      return isExchanged
          ? ExchangedRows.taker().filter(now -> taker == null || taker == now)
          : Optional.empty();
    }

    @Override
    public void begin(UnsafeRow row, int size, boolean isFinal) {
      Optional<ExchangedRows.Room> now = isFinal ? taker() : Optional.empty();
      long address = now.isPresent() ? now.get().room(size, row.numFields()) : 0;
      if (address == 0) {
        buffer = allocator.buffer(size);
        address = buffer.memoryAddress();
      } else if (hold == null) {
        taker = now.get();
        hold = taker.hold();
      }
      row.pointTo(null, address, size);
    }

    private Optional<ArrowBuf> taken() {
      Optional<ArrowBuf> taken = Optional.ofNullable(buffer);
      buffer = null;
      return taken;
    }

    private void close() {
      try {
        if (buffer != null) { // of a row that could not be made
          buffer.close();
          buffer = null;
        }
      } finally {
        if (hold != null) {
          hold.run();
          hold = null;
        }
      }
    }
  }
}
