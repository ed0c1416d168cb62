package org.tilespark.spark.source.zarr;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32C;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.tilespark.kernels.transpose.Transposer;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.BoxCopy;
import org.tilespark.spark.source.ChunkGrid;
import org.tilespark.spark.source.StoredObjects;
import org.tilespark.spark.source.codec.Checksum;
import org.tilespark.spark.source.codec.CodecMemory;

/**
 * Writes the objects of an array: chunks, or shards, each completely. Equal elements always give
 * equal objects, and an object that contains only the fill value is left out. Used by one thread;
 * owns its memory.
 */
final class ObjectWriter implements Closeable {
  private static final int ENTRY_BYTES = 2 * Long.BYTES;

  private final WrittenArray written;
  private final Path directory;
  private final boolean isClean;
  private final StoredObjects objects;
  private final LeafEncoder encoder; // owned
  private final ChunkLayout layout;
  private final long[] extents;

  /**
   * A writer.
   *
   * @param directory directory of the array
   * @param scratch directory for hidden files, as in {@link ZarrTarget}
   * @param isClean true if no objects of an older write can exist, so that none need be removed
   */
  ObjectWriter(
      WrittenArray written,
      Path directory,
      String scratch,
      boolean isClean,
      Configuration conf,
      BufferAllocator allocator,
      Transposer transposer) {
    this.written = written;
    this.directory = directory;
    this.isClean = isClean;
    this.objects = new StoredObjects(conf, scratch);
    this.layout = written.array().layout();
    this.extents = written.array().shape().toArray();
    ChunkLayout.Leaf leaf =
        (ChunkLayout.Leaf) (layout instanceof ChunkLayout.Shard shard ? shard.inner() : layout);
    this.encoder = new LeafEncoder(written, leaf, allocator, transposer);
  }

  /**
   * Writes the objects of a box.
   *
   * @param block elements of whole objects, in the array's stored type
   */
  void write(BoxCopy.Block block) throws IOException {
    long[] high = block.low().clone();
    for (int axis = 0; axis < high.length; axis++) {
      high[axis] += block.size()[axis];
    }
    new ChunkGrid(written.array().shape(), layout.shape())
        .forEach(block.low(), high, place -> writeObject(block, place));
  }

  private void writeObject(BoxCopy.Block block, long[] place) throws IOException {
    Path object = new Path(directory, written.array().keys().of(place));
    long[] low = layout.low(place);
    ByteBuffer bytes =
        layout instanceof ChunkLayout.Shard shard ? shard(block, low, shard) : chunk(block, low);
    if (bytes.hasRemaining()) {
      objects.put(object, bytes);
    } else if (!isClean) {
      objects.remove(object);
    }
  }

  private ByteBuffer chunk(BoxCopy.Block block, long[] low) {
    ByteBuffer bytes = encoder.memory().bytes(CodecMemory.Use.STORED, encoder.mostEncoded());
    if (encoder.encode(block, low, end(low, layout.shape()), bytes) == LeafEncoder.NOTHING) {
      return bytes.limit(0);
    }
    return bytes.flip();
  }

  /** The bytes of a shard: its inner chunks one after the other, then their index. */
  private ByteBuffer shard(BoxCopy.Block block, long[] low, ChunkLayout.Shard shard)
      throws IOException {
    Shape inner = shard.inner().shape();
    int count = Math.toIntExact(shard.grid().elements());
    long most = count * encoder.mostEncoded() + (long) count * ENTRY_BYTES + Checksum.BYTES;
    ByteBuffer bytes =
        encoder.memory().bytes(CodecMemory.Use.STORED, Math.min(most, Integer.MAX_VALUE));
    ByteBuffer index =
        ByteBuffer.allocate(count * ENTRY_BYTES + Checksum.BYTES).order(ByteOrder.LITTLE_ENDIAN);
    new ChunkGrid(shard.shape(), inner)
        .forEach(
            new long[low.length],
            shard.shape().toArray(),
            place -> {
              long[] first = shard.inner().low(place);
              boolean isOutside = false;
              for (int axis = 0; axis < low.length; axis++) {
                first[axis] += low[axis];
                isOutside |= first[axis] >= extents[axis];
              }
              int start = bytes.position();
              int length =
                  isOutside
                      ? LeafEncoder.NOTHING
                      : encoder.encode(block, first, end(first, inner), bytes);
              boolean isStored = length != LeafEncoder.NOTHING;
              index.putLong(isStored ? start : ShardIndexes.MISSING);
              index.putLong(isStored ? length : ShardIndexes.MISSING);
            });
    if (bytes.position() == 0) {
      return bytes.limit(0);
    }
    CRC32C sum = new CRC32C();
    sum.update(index.array(), 0, index.position());
    index.putInt((int) sum.getValue());
    return bytes.put(index.flip()).flip();
  }

  /** The element after the last of a chunk, along each axis, clipped to the array. */
  private long[] end(long[] low, Shape chunk) {
    long[] high = low.clone();
    for (int axis = 0; axis < high.length; axis++) {
      high[axis] = Math.min(extents[axis], high[axis] + chunk.extent(axis));
    }
    return high;
  }

  @Override
  public void close() {
    encoder.close();
  }
}
