package org.tilespark.spark.cache;

import com.esotericsoftware.kryo.DefaultSerializer;
import com.esotericsoftware.kryo.serializers.ExternalizableSerializer;
import java.io.EOFException;
import java.io.Externalizable;
import java.io.IOException;
import java.io.ObjectInput;
import java.io.ObjectOutput;
import java.lang.ref.Cleaner;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.columnar.CachedBatch;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.util.KnownSizeEstimation;
import org.tilespark.arrow.store.CheckedHeader;
import org.tilespark.arrow.store.CorruptDataException;
import org.tilespark.arrow.store.Crc32c;
import org.tilespark.arrow.store.ImageMemory;
import org.tilespark.arrow.store.RowImage;
import org.tilespark.spark.error.StoppedException;

/**
 * Some rows of a cached partition. They are images outside the heap (the bytes of each row after a
 * short header), or arrays on the heap: if there was no room outside, or if the batch was read from
 * disk or from another executor, since Spark discards these batches without closing them.
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
  private static final long OBJECT_BYTES = 256; // Spark's count of bytes for this object, about

  private Place place;
  private int fields; // count of fields of each row
  private long bytes; // bytes of all rows together
  private long counted;
  private byte[][] arrays; // one array for each row; null if the rows are outside the heap
  private long[] images; // addresses of the images' headers; null if the rows are on the heap
  private ImageMemory memory; // holds the images; null if the rows are on the heap
  // Ends this batch's use of the memory; null if the rows are on the heap.
  private Cleaner.Cleanable use;

  /** A constructor for deserialization. */
  public ImageBatch() {}

  /**
   * The number of a batch in its partition: Spark treats the end of a file as the end of a
   * partition, so batches state their number themselves. A partition without rows has one batch.
   *
   * @param number number of the batch, from 0
   * @param isLast true for the partition's last batch
   */
  record Place(int number, boolean isLast) {}

  /** A batch of rows on the heap, which it takes over. */
  ImageBatch(Place place, int fields, List<byte[]> rows) {
    this.place = place;
    this.fields = fields;
    take(rows.toArray(byte[][]::new));
  }

  /**
   * A batch of rows outside the heap.
   *
   * @param images addresses of the images' headers; this batch keeps the array
   * @param memory memory of the images; this batch becomes a user of it
   */
  ImageBatch(Place place, int fields, long[] images, ImageMemory memory, CacheStore store) {
    this.place = place;
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

  /** The place of this batch in its partition. */
  Place place() {
    return place;
  }

  @Override
  public int numRows() {
    return images == null ? arrays.length : images.length;
  }

  /** Bytes of all rows of this batch. */
  @Override
  public long sizeInBytes() {
    return bytes;
  }

  /** Bytes of this batch that Spark counts in its storage memory. */
  @Override
  public long estimatedSize() {
    return counted;
  }

  /**
   * The rows of this batch, which stay valid until the result is closed.
   *
   * @throws StoppedException if the rows have been freed: the batch was closed, or the application
   *     has stopped
   */
  Rows use() {
    if (memory != null && !memory.retain()) {
      throw new StoppedException(
          "A cached block has been freed, since its application stops or no longer caches it."
              + " Start a new SparkContext, or cache the frame again");
    }
    return new Rows();
  }

  /** A use of the batch, which is the only way to its rows. For one thread. */
  final class Rows implements AutoCloseable {
    private boolean closed;

    private Rows() {}

    int count() {
      return numRows();
    }

    /** The memory outside the heap that holds the rows; null if they are on the heap. */
    ImageMemory memory() {
      return memory;
    }

    /** Points {@code view} to a row, which stays valid until this is closed. */
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
   * Spark holds a block's lock while it writes the block, so it does not close the batch. But
   * stopping the application does, so the rows are retained here too.
   */
  @Override
  public void writeExternal(ObjectOutput out) throws IOException {
    try (Rows rows = use()) {
      write(rows, out);
    }
  }

  private void write(Rows rows, ObjectOutput out) throws IOException {
    out.write(new CheckedHeader(numRows(), fields).encoded());
    out.write(new CheckedHeader(place.number, place.isLast ? 1 : 0).encoded());
    UnsafeRow row = new UnsafeRow(fields);
    byte[] piece = images == null ? null : new byte[PIECE_BYTES];
    for (int i = 0; i < numRows(); i++) {
      rows.point(i, row);
      int length = row.getSizeInBytes();
      if (images == null) {
        out.write(new CheckedHeader(length, Crc32c.of(arrays[i], 0, length)).encoded());
        out.write(arrays[i]);
        continue;
      }
      out.write(new CheckedHeader(length, Crc32c.of(row.getBaseOffset(), length)).encoded());
      for (long at = 0; at < length; at += PIECE_BYTES) {
        int count = (int) Math.min(PIECE_BYTES, length - at);
        Platform.copyMemory(
            null, row.getBaseOffset() + at, piece, Platform.BYTE_ARRAY_OFFSET, count);
        out.write(piece, 0, count);
      }
    }
  }

  /**
   * Reads rows that {@link #writeExternal} wrote. The length and checksum of each row are verified
   * before the row.
   *
   * @throws CorruptDataException if the bytes differ from those written, or end early
   */
  @Override
  public void readExternal(ObjectInput in) throws IOException {
    try {
      CheckedHeader rows = header(in, Integer.MAX_VALUE);
      fields = rows.checksum();
      CheckedHeader where = header(in, Integer.MAX_VALUE);
      place = new Place((int) where.bytes(), where.checksum() == 1);
      List<byte[]> all = new ArrayList<>();
      for (int i = 0; i < rows.bytes(); i++) {
        CheckedHeader header = header(in, Integer.MAX_VALUE);
        byte[] row = new byte[(int) header.bytes()];
        in.readFully(row);
        if (Crc32c.of(row, 0, row.length) != header.checksum()) {
          throw new CorruptDataException("A cached row of " + row.length + " bytes was changed");
        }
        all.add(row);
      }
      take(all.toArray(byte[][]::new));
    } catch (EOFException | RuntimeException e) {
      // Without this, Spark would see a shorter partition.
      CorruptDataException corrupt = new CorruptDataException("A cached batch ends early");
      corrupt.addSuppressed(e);
      throw corrupt;
    }
  }

  private static CheckedHeader header(ObjectInput in, long most) throws IOException {
    byte[] encoded = new byte[CheckedHeader.BYTES];
    in.readFully(encoded);
    return CheckedHeader.of(encoded, most);
  }
}
