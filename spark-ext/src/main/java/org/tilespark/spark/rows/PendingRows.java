package org.tilespark.spark.rows;

import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.IntFunction;
import java.util.stream.Stream;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.StructType;
import org.tilespark.arrow.pipeline.Closing;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.Box;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.catalyst.ExchangeInput;

/**
 * Rows of blocks that are begun several at a time and wait for their values, which a device for one
 * writes: in the memory of the {@link RowSink}, if there is one, else in buffers. Made when a task
 * opens, and used by its thread; closed after all who write values.
 */
public final class PendingRows implements AutoCloseable {
  private final BlockRowBuilder builder;
  private final Memory memory;

  /**
   * Rows of one schema; the parameters are those of {@link BlockRowBuilder}.
   *
   * @param allocator of the buffers; borrowed
   */
  public PendingRows(
      StructType schema,
      BlockSchema blocks,
      int[] keys,
      IntFunction<Expression> carried,
      BufferAllocator allocator) {
    this.memory = new Memory(allocator);
    this.builder = new BlockRowBuilder(schema, blocks, keys, carried, memory);
  }

  /**
   * A row that was begun.
   *
   * @param row valid until this is closed
   * @param planes where the values of each plane go, outside the heap
   * @param end of the use of what holds the row
   */
  public record PendingRow(UnsafeRow row, List<HostMemory> planes, Runnable end)
      implements AutoCloseable {
    @Override
    public void close() {
      end.run();
    }
  }

  /**
   * Begins a row of {@code place}.
   *
   * @param carried the row that carried columns are read from
   * @param isFinal true if nothing in the row is changed once it has been handed out
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
    UnsafeRow made = builder.row();
    UnsafeRow row = new UnsafeRow(made.numFields());
    row.pointTo(made.getBaseObject(), made.getBaseOffset(), made.getSizeInBytes());
    return new PendingRow(row, planes, memory.end());
  }

  /** Ends the use of the exchange's memory. */
  @Override
  public void close() {
    memory.close();
  }

  private static final class Memory implements RowAllocator {
    private static final Runnable NOTHING = () -> {};

    private final boolean isExchanged = ExchangeInput.isOpening();
    private final BufferAllocator allocator;
    private RowSink.Room sink; // of the rows; null before the first that it takes
    private Runnable hold; // of its memory; null as long
    private ArrowBuf buffer; // of the row begun last; null if an exchange has it
    private ArrowBuf spare; // of a row that was closed; null if there is none
    private boolean isClosed;

    private Memory(BufferAllocator allocator) {
      this.allocator = allocator;
    }

    /**
     * The sink of a row that is begun now. Not a cache that is being filled while this task's
     * exchange reads it: rows may be begun then, since other pipelines of a thread may ask for
     * results.
     */
    private Optional<RowSink.Room> sink() {
      return isExchanged
          ? RowSink.current().filter(now -> sink == null || sink == now)
          : Optional.empty();
    }

    @Override
    public void begin(UnsafeRow row, int size, boolean isFinal) {
      Optional<RowSink.Room> now = isFinal ? sink() : Optional.empty();
      long address = now.isPresent() ? now.get().room(size, row.numFields()) : 0;
      if (address == 0) {
        buffer = buffer(size);
        address = buffer.memoryAddress();
      } else if (hold == null) {
        sink = now.get();
        hold = sink.hold();
      }
      row.pointTo(null, address, size);
    }

    /** The spare buffer, if it is of that size: many rows have one size. */
    private ArrowBuf buffer(int size) {
      ArrowBuf kept = spare;
      spare = null;
      if (kept != null && kept.capacity() >= size && kept.capacity() / 2 < size) {
        return kept;
      }
      if (kept != null) {
        kept.close();
      }
      return allocator.buffer(size);
    }

    /** Ends the use of the buffer of the row begun last, when it is run. */
    private Runnable end() {
      ArrowBuf used = buffer;
      buffer = null;
      return used == null ? NOTHING : () -> end(used);
    }

    private void end(ArrowBuf used) {
      if (spare == null && !isClosed && used.refCnt() == 1) {
        spare = used;
      } else {
        used.close();
      }
    }

    private void close() {
      isClosed = true;
      List<ArrowBuf> unused = Stream.of(buffer, spare).filter(Objects::nonNull).toList();
      buffer = null; // of a row that could not be made
      spare = null;
      try {
        Closing.all(unused);
      } finally {
        if (hold != null) {
          hold.run();
          hold = null;
        }
      }
    }
  }
}
