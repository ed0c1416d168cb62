package org.tilespark.spark.source.raw;

import java.io.IOException;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Optional;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.spark.sql.catalyst.InternalRow;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.rows.BlockCursor;
import org.tilespark.spark.source.BlockSink;
import org.tilespark.spark.source.BoxRuns;
import org.tilespark.spark.source.HiddenFiles;
import org.tilespark.spark.source.PosixTarget;

/** Writes one raw file. */
record RawSink(RawFormat format, PosixTarget file) implements BlockSink {
  @Override
  public URI location() {
    return file.path().toUri();
  }

  @Override
  public boolean exists() {
    return file.exists();
  }

  @Override
  public Optional<Shape> statedExtents(int rank) {
    return Optional.ofNullable(format.extents())
        .map(text -> Shape.parse("Option extents", text, rank));
  }

  @Override
  public void check(BlockSchema blocks, ArrayMetadata metadata) {
    format.requireReadBack(blocks, metadata);
  }

  @Override
  public Pending begin(BlockSchema blocks, ArrayMetadata metadata, Extents array, boolean replace)
      throws IOException {
    Shape extents = array.shape();
    long bytes = RawFormat.MARK.length + extents.elements() * RawFormat.WIDTH;
    PosixTarget.Pending pending = file.begin(RawFormat.MARK, bytes, HiddenFiles.BEAT);
    Target target =
        new RawTarget(
            pending.file().toString(),
            blocks.offsets(),
            blocks.sizes(),
            blocks.values(),
            extents.toArray());
    return new Pending() {
      @Override
      public Target target() {
        return target;
      }

      @Override
      public void commit(boolean replace) throws IOException {
        pending.commit(replace, false);
      }

      @Override
      public void close() throws IOException {
        pending.close();
      }
    };
  }

  /** The hidden file, and where a row has its columns. */
  private record RawTarget(
      String place, List<Integer> offsets, List<Integer> sizes, int values, long[] extents)
      implements Target {
    @Override
    public int rank() {
      return extents.length;
    }

    @Override
    public Writer open(BufferAllocator allocator) throws IOException {
      return new RawWriter(this, FileChannel.open(Path.of(place), StandardOpenOption.WRITE));
    }
  }

  private record RawWriter(RawTarget target, FileChannel channel) implements Writer {
    @Override
    public void write(BlockCursor blocks, long[] box, int at) throws IOException {
      InternalRow row = blocks.row();
      int rank = target.rank();
      long[] offset = new long[rank];
      long[] size = new long[rank];
      for (int axis = 0; axis < rank; axis++) {
        offset[axis] = row.getLong(target.offsets().get(axis));
        size[axis] = row.getInt(target.sizes().get(axis));
        if (offset[axis] < 0
            || size[axis] < 1
            || offset[axis] + size[axis] > target.extents[axis]) {
          throw new IllegalArgumentException("a block lies outside the array");
        }
        box[at + axis] = offset[axis];
        box[at + rank + axis] = size[axis];
      }
      double[] values = row.getArray(target.values()).toDoubleArray();
      BoxRuns runs = new BoxRuns(target.extents(), offset, size);
      int count = Math.toIntExact(runs.elements());
      for (int run = 0; run < runs.count(); run++) {
        ByteBuffer bytes =
            ByteBuffer.allocate(count * RawFormat.WIDTH).order(ByteOrder.LITTLE_ENDIAN);
        bytes.asDoubleBuffer().put(values, run * count, count);
        long place = RawFormat.MARK.length + runs.start(run) * RawFormat.WIDTH;
        while (bytes.hasRemaining()) {
          channel.write(bytes, place + bytes.position());
        }
      }
    }

    @Override
    public void finish() {}

    @Override
    public void close() throws IOException {
      channel.close();
    }
  }
}
