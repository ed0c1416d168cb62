package org.tilespark.spark.cache;

import com.esotericsoftware.kryo.DefaultSerializer;
import com.esotericsoftware.kryo.serializers.ExternalizableSerializer;
import java.io.Externalizable;
import java.io.IOException;
import java.io.ObjectInput;
import java.io.ObjectOutput;
import java.lang.ref.Cleaner;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.columnar.CachedBatch;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.util.KnownSizeEstimation;
import org.tilespark.arrow.store.ImageMemory;
import org.tilespark.arrow.store.RowImage;
import org.tilespark.spark.error.StoppedException;

/**
 * Some rows of a cached partition. They lie as images outside the heap, or each in an array on the
 * heap: where there was no room outside, and where they came from a disk or another executor, since
 * Spark drops those batches without a word.
 *
 * <p>Spark's store of memory closes it when it evicts it or when the frame is unpersisted, counts
 * {@link #estimatedSize}, and writes it as {@link Externalizable}. Immutable; safe for several
 * threads.
 */
@DefaultSerializer(ExternalizableSerializer.class)
public final class ImageBatch
    implements CachedBatch, AutoCloseable, Externalizable, KnownSizeEstimation {
  private static final int PIECE_BYTES = 1 << 16;
  private static final long ARRAY_HEADER_BYTES = 16;
  private static final long OBJECT_BYTES = 256; // about

  private int fields; // of each row
  private long bytes; // of all rows
  private long counted;
  private byte[][] arrays; // a row each; null if they lie outside the heap
  private long[] images; // addresses of headers; null if they lie on the heap
  private ImageMemory memory; // of images; null if they lie on the heap
  private Cleaner.Cleanable use; // of memory; the same

  /** For deserialization. */
  public ImageBatch() {}

  /** Rows on the heap, which it takes. */
  ImageBatch(int fields, List<byte[]> rows) {
    this.fields = fields;
    take(rows.toArray(byte[][]::new));
  }

  /**
   * Rows outside the heap.
   *
   * @param images addresses of their headers; taken
   * @param memory they lie in; this becomes a user of it
   */
  ImageBatch(int fields, long[] images, ImageMemory memory, CacheStore store) {
    this.fields = fields;
    this.images = images;
    this.memory = memory;
    for (long image : images) {
      bytes += RowImage.bytes(RowImage.headerAt(image));
    }
    CacheStore.Usage usage = store.use(this, memory, bytes);
    this.use = usage.end();
    this.counted = usage.counted() + OBJECT_BYTES + (long) Long.BYTES * images.length;
  }

  private void take(byte[][] rows) {
    arrays = rows;
    for (byte[] row : rows) {
      bytes += row.length;
      counted += ARRAY_HEADER_BYTES;
    }
    counted += bytes;
  }

  @Override
  public int numRows() {
    return images == null ? arrays.length : images.length;
  }

  /** Bytes of all rows. */
  @Override
  public long sizeInBytes() {
    return bytes;
  }

  /** What Spark counts in its storage memory. */
  @Override
  public long estimatedSize() {
    return counted;
  }

  /**
   * The rows of this batch, which stay until the result is closed.
   *
   * @throws StoppedException if they have been freed: the batch was closed, or the application has
   *     stopped
   */
  Rows use() {
    if (memory != null && !memory.retain()) {
      throw new StoppedException(
          "A cached block has been freed, since its application stops or no longer caches it."
              + " Start a new SparkContext, or cache the frame again");
    }
    return new Rows();
  }

  /** A use of the batch: the only way to its rows. For one thread. */
  final class Rows implements AutoCloseable {
    private boolean closed;

    private Rows() {}

    int count() {
      return numRows();
    }

    /** The memory outside the heap that the rows lie in; null if they lie on the heap. */
    ImageMemory memory() {
      return memory;
    }

    /** Points {@code view} to a row, which stays until this is closed. */
    void point(int row, UnsafeRow view) {
      if (images == null) {
        view.pointTo(arrays[row], Platform.BYTE_ARRAY_OFFSET, arrays[row].length);
      } else {
        long header = RowImage.headerAt(images[row]);
        view.pointTo(null, images[row] + RowImage.HEADER_BYTES, RowImage.bytes(header));
      }
    }

    @Override
    public void close() {
      if (memory != null && !closed) {
        closed = true;
        memory.release();
      }
    }
  }

  @Override
  public void close() {
    if (use != null) {
      use.clean();
    }
  }

  /**
   * While Spark writes a block it holds the block's lock, and closes no batch of it. A stop of the
   * application does, so the rows are used here too.
   */
  @Override
  public void writeExternal(ObjectOutput out) throws IOException {
    try (Rows rows = use()) {
      write(rows, out);
    }
  }

  private void write(Rows rows, ObjectOutput out) throws IOException {
    out.writeInt(fields);
    out.writeInt(numRows());
    UnsafeRow row = new UnsafeRow(fields);
    byte[] piece = images == null ? null : new byte[PIECE_BYTES];
    for (int i = 0; i < numRows(); i++) {
      rows.point(i, row);
      int length = row.getSizeInBytes();
      out.writeInt(length);
      if (images == null) {
        out.write(arrays[i]);
        continue;
      }
      for (long at = 0; at < length; at += PIECE_BYTES) {
        int count = (int) Math.min(PIECE_BYTES, length - at);
        Platform.copyMemory(
            null, row.getBaseOffset() + at, piece, Platform.BYTE_ARRAY_OFFSET, count);
        out.write(piece, 0, count);
      }
    }
  }

  @Override
  public void readExternal(ObjectInput in) throws IOException {
    fields = in.readInt();
    byte[][] rows = new byte[in.readInt()][];
    for (int i = 0; i < rows.length; i++) {
      rows[i] = new byte[in.readInt()];
      in.readFully(rows[i]);
    }
    take(rows);
  }
}
