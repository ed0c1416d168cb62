package org.tilespark.spark.rows;

import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.tilespark.arrow.pipeline.Closing;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.spark.catalyst.ExchangeInput;
import org.tilespark.spark.rows.PendingRows.PendingRow;

/**
 * Memory outside the heap for rows that wait for their values, several at a time: that of the
 * {@link RowSink} if there is one, otherwise buffers. Created when a task opens, and used by its
 * thread; closed after all writers of values.
 */
public final class PendingRowMemory implements RowAllocator, AutoCloseable {
  private static final Runnable NOTHING = () -> {};

  private final boolean isExchanged = ExchangeInput.isOpening();
  private final BufferAllocator allocator;
  // Buffers of the rows that are not closed
  private final Set<ArrowBuf> used = Collections.newSetFromMap(new IdentityHashMap<>());
  private RowSink.Room sink; // the sink that holds rows begun here; null before the first of them
  private Runnable hold; // ends the use of the sink's memory; null before that
  private ArrowBuf buffer; // buffer of the row begun last; null if the sink has it
  private ArrowBuf spare; // buffer of a closed row, for reuse; null if there is none
  private boolean isClosed;

  /** Memory without rows yet; borrows the allocator of the buffers. */
  public PendingRowMemory(BufferAllocator allocator) {
    this.allocator = allocator;
  }

  /**
   * The sink for a new row: always the one that has the first row. Another one is a cache that is
   * being filled while this task's exchange reads it; rows that other pipelines of the thread begin
   * meanwhile must not go there.
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
      used.add(buffer);
      address = buffer.memoryAddress();
    } else if (hold == null) {
      sink = now.get();
      hold = sink.hold();
    }
    row.pointTo(null, address, size);
  }

  /**
   * The spare buffer if {@code size} fills more than half of it, since many rows have equal size;
   * otherwise a new one.
   */
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

  /**
   * The last begun row, to which {@code made} points, as a separate row object.
   *
   * @param planes memory for the row's values
   */
  public PendingRow begun(UnsafeRow made, List<HostMemory> planes) {
    UnsafeRow row = new UnsafeRow(made.numFields());
    row.pointTo(made.getBaseObject(), made.getBaseOffset(), made.getSizeInBytes());
    ArrowBuf its = buffer;
    buffer = null;
    return new PendingRow(row, planes, its == null ? NOTHING : () -> end(its));
  }

  private void end(ArrowBuf its) {
    if (!used.remove(its)) {
      return; // closed together with all others
    }
    if (spare == null && !isClosed && its.refCnt() == 1) {
      spare = its;
    } else {
      its.close();
    }
  }

  /** Frees the buffers of all rows, and ends the use of the sink's memory. */
  @Override
  public void close() {
    isClosed = true;
    List<ArrowBuf> unused = new ArrayList<>(used);
    if (spare != null) {
      unused.add(spare);
    }
    used.clear();
    buffer = null;
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
