package org.tilespark.spark.cache;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Set;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.columnar.CachedBatch;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.util.TaskCompletionListener;
import org.tilespark.arrow.store.ImageMemory;
import org.tilespark.arrow.store.RowImage;
import org.tilespark.spark.catalyst.PartitionBoundary;
import org.tilespark.spark.rows.RowSink;
import scala.runtime.AbstractFunction1;

/**
 * Puts the rows of a partition into batches, with one copy of each; no copy if the node below
 * writes its rows directly to the cache's memory. For the task's thread.
 */
final class ImageBatches implements Iterator<CachedBatch> {
  /**
   * Bytes of a batch of more than one row, as in Spark's own cache, which processes 16 batches at a
   * time.
   */
  private static final long BATCH_BYTES = 4 << 20;

  private final Iterator<InternalRow> rows;
  private final int fields; // count of fields of each row
  private final UnsafeProjection projection; // for rows that are not UnsafeRows
  private final boolean madeInPlace;
  private final CacheStore store; // null if all rows go to the heap
  // The memory of this partition, owned until the last row; null before the first row and after the
  // last.
  private ImageMemory memory;
  // The row that was read and is in no batch; valid until the next row is read.
  private UnsafeRow pending;

  // The rows and bytes of the batch that is being filled.
  private final List<Long> images = new ArrayList<>();
  private final List<byte[]> arrays = new ArrayList<>();
  private long batchBytes;
  private int made; // count of batches made
  private boolean ended; // true if no row is left for a further batch
  private final Set<Long> rooms = new HashSet<>(); // addresses where the node below makes rows
  private final Below below = new Below();

  private ImageBatches(Iterator<InternalRow> rows, Opener how) {
    this.rows = rows;
    this.fields = how.schema.length();
    this.projection = UnsafeProjection.create(how.schema);
    this.madeInPlace = how.madeInPlace;
    this.store = how.outsideTheHeap ? CacheStore.current() : null;
    TaskContext.get().addTaskCompletionListener((TaskCompletionListener) ended -> endMemory());
  }

  /**
   * True until the last batch was given; a partition without rows has one batch, which is its last.
   */
  @Override
  public boolean hasNext() {
    return !ended;
  }

  @Override
  public CachedBatch next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    if (store != null && memory == null) {
      memory = store.newMemory();
    }
    if (madeInPlace && store != null) {
      RowSink.<RuntimeException>to(below, this::fill);
    } else {
      fill();
    }
    return batch();
  }

  /** Gives the node below room for its rows in the cache's memory. */
  private final class Below implements RowSink.Room {
    @Override
    public long room(long bytes, int rowFields) {
      long address = memory.room(bytes, rowFields);
      if (address != 0) {
        rooms.add(address);
      }
      return address;
    }

    @Override
    public Runnable hold() {
      return memory.held();
    }
  }

  /** Reads rows until the batch is full, or until {@link #add} refuses a row. */
  private void fill() {
    while (true) {
      if (pending == null) {
        if (!rows.hasNext()) {
          ended = true;
          return;
        }
        if (batchBytes >= BATCH_BYTES) {
          return;
        }
        InternalRow row = rows.next();
        pending = row instanceof UnsafeRow unsafe ? unsafe : projection.apply(row);
      }
      if (!add(pending)) {
        return;
      }
      batchBytes += pending.getSizeInBytes();
      pending = null;
    }
  }

  /**
   * Adds a row to the batch; false if there is no room outside the heap, where the batch's other
   * rows are.
   */
  private boolean add(UnsafeRow row) {
    long address = arrays.isEmpty() ? outside(row) : 0;
    if (address != 0) {
      images.add(address - RowImage.HEADER_BYTES);
      return true;
    }
    if (!images.isEmpty()) {
      return false;
    }
    arrays.add(copy(row));
    return true;
  }

  /**
   * The copied bytes of a row: {@link UnsafeRow#getBytes()} may return an array that the next row
   * overwrites.
   */
  private static byte[] copy(UnsafeRow row) {
    byte[] bytes = new byte[row.getSizeInBytes()];
    row.writeToMemory(bytes, Platform.BYTE_ARRAY_OFFSET);
    return bytes;
  }

  /**
   * Copies a row to the cache's memory, unless it was made there, and returns its address; 0 if
   * there is no room.
   */
  private long outside(UnsafeRow row) {
    if (store == null) {
      return 0;
    }
    // If the same row comes again, it is copied.
    if (row.getBaseObject() == null && rooms.remove(row.getBaseOffset())) {
      return row.getBaseOffset();
    }
    long address = memory.room(row.getSizeInBytes(), row.numFields());
    if (address != 0) {
      Platform.copyMemory(
          row.getBaseObject(), row.getBaseOffset(), null, address, row.getSizeInBytes());
    }
    return address;
  }

  private ImageBatch batch() {
    ImageBatch.Place place = new ImageBatch.Place(made++, ended);
    ImageBatch batch =
        arrays.isEmpty() && !images.isEmpty()
            ? new ImageBatch(
                place, fields, images.stream().mapToLong(Long::longValue).toArray(), memory, store)
            : new ImageBatch(place, fields, arrays);
    images.clear();
    arrays.clear();
    batchBytes = 0;
    return batch;
  }

  private void endMemory() {
    if (memory != null) {
      memory.release();
      memory = null;
    }
  }

  /** Opens the batches of a partition, on the executor. */
  static final class Opener
      extends AbstractFunction1<
          scala.collection.Iterator<InternalRow>, scala.collection.Iterator<CachedBatch>>
      implements Serializable {
    private final StructType schema;
    private final boolean outsideTheHeap;
    private final boolean madeInPlace;

    /**
     * @param outsideTheHeap false if Spark keeps only the serialized form of batches
     * @param madeInPlace true if all rows of the node below are cached, so that it may write them
     *     directly to the cache
     */
    Opener(StructType schema, boolean outsideTheHeap, boolean madeInPlace) {
      this.schema = schema;
      this.outsideTheHeap = outsideTheHeap;
      this.madeInPlace = madeInPlace;
    }

    @Override
    public scala.collection.Iterator<CachedBatch> apply(
        scala.collection.Iterator<InternalRow> rows) {
      return PartitionBoundary.over(rows, each -> new ImageBatches(each, this));
    }
  }
}
