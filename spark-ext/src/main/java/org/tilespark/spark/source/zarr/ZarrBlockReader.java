package org.tilespark.spark.source.zarr;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.transpose.Transposer;
import org.tilespark.layout.Shape;
import org.tilespark.spark.source.BlockReader;
import org.tilespark.spark.source.ChunkGrid;
import org.tilespark.spark.source.StoredInput;
import org.tilespark.spark.source.codec.CodecMemory;

/**
 * Brings single blocks of an array into memory outside the heap. Reads only the chunks that overlap
 * a block: whole objects, or ranges of shards.
 *
 * <p>Used by one thread. Owns its scratch memory until {@link #close()}.
 */
final class ZarrBlockReader implements BlockReader {
  /**
   * Most bytes of inner chunks of a shard that are read at once, except for a single larger chunk.
   */
  private static final long GROUP_BYTES = 64L << 20;

  private final ZarrSource source;
  private final Configuration conf; // borrowed
  private final LeafDecoder decoder; // owned
  private final ShardIndexes indexes;

  ZarrBlockReader(
      ZarrSource source, Configuration conf, BufferAllocator allocator, Transposer transposer) {
    this.source = source;
    this.conf = conf;
    this.decoder =
        new LeafDecoder(source.array().type(), source.cutsChunks(), allocator, transposer);
    this.indexes = new ShardIndexes(decoder.memory());
  }

  /** Compares only the metadata document, since chunks have no common modification time. */
  @Override
  public void requireUnchanged() throws IOException {
    boolean current;
    try {
      current = source.stamp().isCurrent(conf);
    } catch (FileNotFoundException e) {
      throw new IOException(
          source.stamp().file()
              + " was deleted since the DataFrame was made, or this executor does not see it",
          e);
    }
    if (!current) {
      throw new IOException(
          source.stamp().file() + " was changed since the DataFrame was made. Load it again");
    }
  }

  @Override
  public void read(
      long[] offset, long[] size, ArrowBuf values, long valuesAt, ArrowBuf imag, long imagAt)
      throws IOException {
    ZarrArray array = source.array();
    long[] low = source.view().offset(offset);
    long[] extents = source.view().size(size);
    BlockTarget target =
        new BlockTarget(
            array.type(),
            source.columnType(),
            low,
            extents,
            values == null ? null : new BlockTarget.Column(values, valuesAt),
            imag == null ? null : new BlockTarget.Column(imag, imagAt));
    Part block = new Part(low, sum(low, extents));
    new ChunkGrid(array.shape(), array.layout().shape())
        .forEach(
            low,
            block.high,
            place -> {
              Path object = source.object(place);
              long[] chunkLow = array.layout().low(place);
              readObject(object, chunkLow, block.within(chunkLow, array.layout().shape()), target);
            });
  }

  /** A box of the array, from {@code low} up to but without {@code high}. */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  private record Part(long[] low, long[] high) {
    Part within(long[] chunkLow, Shape chunk) {
      long[] from = low.clone();
      long[] to = high.clone();
      for (int axis = 0; axis < from.length; axis++) {
        from[axis] = Math.max(from[axis], chunkLow[axis]);
        to[axis] = Math.min(to[axis], chunkLow[axis] + chunk.extent(axis));
      }
      return new Part(from, to);
    }
  }

  private void readObject(Path object, long[] chunkLow, Part part, BlockTarget target)
      throws IOException {
    ChunkLayout layout = source.array().layout();
    try {
      if (layout instanceof ChunkLayout.Leaf leaf
          && putKept(object + "", leaf, chunkLow, part, target)) {
        return;
      }
      boolean whole = layout instanceof ChunkLayout.Leaf;
      try (StoredInput input = open(object, whole)) {
        if (input == null) {
          missing("the chunk", part, target);
        } else if (layout instanceof ChunkLayout.Leaf leaf) {
          long length = input.length();
          decoder.requireLength(leaf, length);
          ArrowBuf stored = decoder.memory().buffer(CodecMemory.Use.STORED, length);
          input.read(0, stored, 0, length);
          decode(
              leaf, stored, 0, (int) length, new Named(object.toString(), chunkLow), part, target);
        } else {
          Stored stored = new Stored(input, object.toString(), 0, input.length());
          readShard(stored, (ChunkLayout.Shard) layout, chunkLow, part, target);
        }
      }
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(object + ": " + e.getMessage(), e);
    }
  }

  /** The input of an object; null if the object is not stored. */
  private StoredInput open(Path object, boolean whole) throws IOException {
    try {
      return StoredInput.open(object, conf, whole ? StoredInput.Use.WHOLE : StoredInput.Use.RANGES);
    } catch (NoSuchFileException | FileNotFoundException e) {
      return null;
    }
  }

  private void missing(String what, Part part, BlockTarget target) {
    if (source.missingIsError()) {
      throw new IllegalArgumentException(
          what
              + " is not stored; without the option missing=error it is full of the array's fill"
              + " value");
    }
    target.fill(source.array().fill(), part.low, part.high);
  }

  /** A chunk's name and first element. */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  private record Named(String key, long[] low) {}

  /** The bytes of a shard: a range of an object. */
  private record Stored(StoredInput input, String object, long start, long bytes) {}

  /** An inner chunk that is to be read. */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  private record Inner(Named chunk, Part part, long position, int bytes) {}

  private void readShard(
      Stored stored, ChunkLayout.Shard shard, long[] shardLow, Part part, BlockTarget target)
      throws IOException {
    // A shard in a shard may begin at the outer one's first byte, so the key has the length too.
    String key = "%s, %s bytes from %s".formatted(stored.object, stored.bytes, stored.start);
    long[] index = indexes.of(stored.input, key, stored.start, stored.bytes, shard);
    long[] grid = shard.order().apply(shard.grid().toArray());
    List<Inner> wanted = new ArrayList<>();
    ChunkLayout inner = shard.inner();
    new ChunkGrid(shard.shape(), inner.shape())
        .forEach(
            difference(part.low, shardLow),
            difference(part.high, shardLow),
            place -> {
              int entry = 0;
              long[] inOrder = shard.order().apply(place);
              for (int axis = 0; axis < grid.length; axis++) {
                entry = (int) (entry * grid[axis] + inOrder[axis]);
              }
              long[] low = sum(shardLow, inner.low(place));
              Part of = part.within(low, inner.shape());
              long start = stored.start + index[2 * entry];
              long bytes = index[2 * entry + 1];
              if (bytes == ShardIndexes.MISSING) {
                missing("inner chunk " + entry, of, target);
              } else if (inner instanceof ChunkLayout.Leaf leaf) {
                decoder.requireLength(leaf, bytes);
                String chunk = stored.object + " from byte " + start;
                if (!putKept(chunk, leaf, low, of, target)) {
                  wanted.add(new Inner(new Named(chunk, low), of, start, (int) bytes));
                }
              } else {
                Stored nested = new Stored(stored.input, stored.object, start, bytes);
                readShard(nested, (ChunkLayout.Shard) inner, low, of, target);
              }
            });
    if (inner instanceof ChunkLayout.Leaf leaf) {
      readGroups(stored.input, leaf, wanted, target);
    }
  }

  private void readGroups(
      StoredInput input, ChunkLayout.Leaf leaf, List<Inner> wanted, BlockTarget target)
      throws IOException {
    int next = 0;
    while (next < wanted.size()) {
      List<StoredInput.Range> ranges = new ArrayList<>();
      int first = next;
      long bytes = 0;
      while (next < wanted.size()
          && (next == first || bytes + wanted.get(next).bytes <= GROUP_BYTES)) {
        Inner each = wanted.get(next);
        if (each.bytes > 0) {
          ranges.add(new StoredInput.Range(each.position, each.bytes, bytes));
        }
        bytes += each.bytes;
        next++;
      }
      ArrowBuf stored = decoder.memory().buffer(CodecMemory.Use.STORED, bytes);
      input.read(ranges, stored);
      long at = 0;
      for (Inner each : wanted.subList(first, next)) {
        try {
          decode(leaf, stored, at, each.bytes, each.chunk, each.part, target);
        } catch (IllegalArgumentException e) {
          throw new IllegalArgumentException(
              "the chunk of %s bytes at byte %s: %s"
                  .formatted(each.bytes, each.position, e.getMessage()),
              e);
        }
        at += each.bytes;
      }
    }
  }

  /**
   * Copies the part of a chunk that was already decoded for another block; false if it was not
   * decoded.
   */
  private boolean putKept(
      String key, ChunkLayout.Leaf leaf, long[] low, Part part, BlockTarget target) {
    HostMemory elements = decoder.kept(key, leaf);
    if (elements == null) {
      return false;
    }
    target.put(elements, low, leaf.shape(), part.low, part.high);
    return true;
  }

  private void decode(
      ChunkLayout.Leaf leaf,
      ArrowBuf stored,
      long at,
      int bytes,
      Named chunk,
      Part part,
      BlockTarget target) {
    var encoded = stored.nioBuffer(at, bytes);
    if (target.isChunk(chunk.low, leaf.shape())) {
      decoder.decode(leaf, encoded, target.bytes());
    } else {
      HostMemory elements = decoder.decode(leaf, encoded, chunk.key);
      target.put(elements, chunk.low, leaf.shape(), part.low, part.high);
    }
  }

  private static long[] sum(long[] a, long[] b) {
    long[] sum = a.clone();
    for (int axis = 0; axis < sum.length; axis++) {
      sum[axis] += b[axis];
    }
    return sum;
  }

  private static long[] difference(long[] a, long[] b) {
    long[] difference = a.clone();
    for (int axis = 0; axis < difference.length; axis++) {
      difference[axis] -= b[axis];
    }
    return difference;
  }

  @Override
  public void close() {
    decoder.close();
  }
}
