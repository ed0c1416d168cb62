package org.tilespark.spark.source.zarr;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.arrow.memory.ArrowBuf;
import org.tilespark.layout.Shape;
import org.tilespark.spark.source.StoredInput;
import org.tilespark.spark.source.codec.Checksum;
import org.tilespark.spark.source.codec.CodecMemory;

/** Reads the indexes of shards and caches the last ones. Used by one thread. */
final class ShardIndexes {
  /** Offset and length of an inner chunk that is not stored. */
  static final long MISSING = -1;

  private static final int ENTRY_BYTES = 2 * Long.BYTES;

  /** The most inner chunks of a shard. */
  private static final long MOST_ENTRIES = 1 << 22;

  /** The most numbers of indexes that are kept, except for a single larger index. */
  private static final long KEPT_NUMBERS = 1 << 20;

  private final CodecMemory memory; // borrowed
  private final Map<String, long[]> kept = new LinkedHashMap<>(16, 0.75f, true);
  private long keptNumbers;

  ShardIndexes(CodecMemory memory) {
    this.memory = memory;
  }

  /**
   * Offset in the shard and length of each inner chunk, both {@link #MISSING} if it is not stored.
   *
   * @param key the shard's name
   * @param start first byte of the shard in its object
   * @param bytes length of the shard
   * @throws IllegalArgumentException if the stored index is damaged, or is none of this shard
   */
  long[] of(StoredInput input, String key, long start, long bytes, ChunkLayout.Shard shard)
      throws IOException {
    long[] known = kept.get(key);
    if (known != null) {
      return known;
    }
    long[] read = read(input, start, bytes, shard);
    var oldest = kept.entrySet().iterator();
    while (keptNumbers + read.length > KEPT_NUMBERS && oldest.hasNext()) {
      keptNumbers -= oldest.next().getValue().length;
      oldest.remove();
    }
    kept.put(key, read);
    keptNumbers += read.length;
    return read;
  }

  private long[] read(StoredInput input, long start, long bytes, ChunkLayout.Shard shard)
      throws IOException {
    long entries = entries(shard.grid());
    ChunkLayout.Index layout = shard.index();
    int length = (int) (entries * ENTRY_BYTES + (long) layout.checksums() * Checksum.BYTES);
    if (length > bytes) {
      throw new IllegalArgumentException(
          "a shard of %s bytes; its index alone has %s".formatted(bytes, length));
    }
    ArrowBuf buffer = memory.buffer(CodecMemory.Use.STORED, length);
    input.read(layout.atEnd() ? start + bytes - length : start, buffer, 0, length);
    ByteBuffer stored = buffer.nioBuffer(0, length);
    for (int i = 0; i < layout.checksums(); i++) {
      try {
        stored = Checksum.verify(stored);
      } catch (IllegalArgumentException e) {
        throw new IllegalArgumentException("the index of a shard: " + e.getMessage(), e);
      }
    }
    stored.order(layout.bigEndian() ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN);
    long[] index = new long[(int) entries * 2];
    stored.asLongBuffer().get(index);
    for (int i = 0; i < index.length; i += 2) {
      boolean missing = index[i] == MISSING && index[i + 1] == MISSING;
      boolean inside = index[i] >= 0 && index[i + 1] >= 0 && index[i] <= bytes - index[i + 1];
      if (!missing && !inside) {
        throw new IllegalArgumentException(
            "the index of a shard of %s bytes has inner chunk %s at byte %s, with %s bytes"
                .formatted(
                    bytes,
                    i / 2,
                    Long.toUnsignedString(index[i]),
                    Long.toUnsignedString(index[i + 1])));
      }
    }
    return index;
  }

  private static long entries(Shape grid) {
    double count = 1;
    for (int axis = 0; axis < grid.rank(); axis++) {
      count *= grid.extent(axis);
    }
    if (count > MOST_ENTRIES) {
      throw new IllegalArgumentException(
          "a shard of %s inner chunks; expected at most %s".formatted(grid, MOST_ENTRIES));
    }
    return (long) count;
  }
}
