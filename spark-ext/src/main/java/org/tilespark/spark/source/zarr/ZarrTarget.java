package org.tilespark.spark.source.zarr;

import java.io.IOException;
import java.nio.file.Files;
import java.util.Arrays;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.hadoop.fs.Path;
import org.apache.spark.util.SerializableConfiguration;
import org.tilespark.arrow.memory.Buffers;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.BoxCopy;
import org.tilespark.spark.numpy.NpyDecoder;
import org.tilespark.spark.numpy.NpyEncoder;
import org.tilespark.spark.rows.BlockCursor;
import org.tilespark.spark.runtime.ExecutorRuntime;
import org.tilespark.spark.source.BlockColumns;
import org.tilespark.spark.source.BlockSink;
import org.tilespark.spark.source.StorePaths;

/**
 * The facts that tasks need to write objects of one array. Immutable.
 *
 * @param directory directory of the array
 * @param scratch directory of the files that have no name yet, which ends with the write, and by
 *     which executors check that they share a local directory with the driver; "" for stores where
 *     an object never is a hidden file
 * @param isClean true if no object of an older write can exist
 * @param columns columns of the blocks that tasks get
 * @param conf configuration of Hadoop
 */
record ZarrTarget(
    String directory,
    String scratch,
    boolean isClean,
    WrittenArray written,
    BlockColumns columns,
    SerializableConfiguration conf)
    implements BlockSink.Target {
  @Override
  public String place() {
    return directory;
  }

  @Override
  public int rank() {
    return columns.axes().rank();
  }

  @Override
  public Writer open(BufferAllocator allocator) throws IOException {
    if (StorePaths.isLocal(new Path(directory))
        && !Files.exists(StorePaths.localPath(new Path(scratch)))) {
      throw new IOException(
          "Cannot write "
              + directory
              + ": this executor does not see it, or the write has ended; a local path must be one"
              + " that the driver and all executors share");
    }
    ObjectWriter objects =
        new ObjectWriter(
            written,
            new Path(directory),
            scratch,
            isClean,
            conf.value(),
            allocator,
            ExecutorRuntime.current().hostTransposer());
    return new Writer(this, objects, allocator);
  }

  /**
   * Writes the blocks of one task; owns {@code objects} and its memory. An object that is longer
   * than 1 along leading axes is gathered from its blocks, which come one after the other.
   */
  static final class Writer implements BlockSink.Writer {
    private final ZarrTarget target;
    private final ObjectWriter objects;
    private final BufferAllocator allocator; // borrowed
    private ArrowBuf encoded; // null until needed
    private ArrowBuf gathered; // null until needed
    private BoxCopy.Block open; // in gathered; null if there is none
    private long missing; // elements of the open object

    private Writer(ZarrTarget target, ObjectWriter objects, BufferAllocator allocator) {
      this.target = target;
      this.objects = objects;
      this.allocator = allocator;
    }

    @Override
    public void write(BlockCursor blocks, long[] box, int at) throws IOException {
      BlockColumns.Block block = target.columns.block(blocks);
      ArrayView view = target.written.view();
      long[] low = view.offset(block.offset());
      long[] size = view.size(block.size());
      requireWhole(block, low, size);
      BoxCopy.Block elements = new BoxCopy.Block(elements(block), low, size);
      if (target.written.isGathered(target.columns.axes())) {
        gather(elements);
      } else {
        objects.write(elements);
      }
      block.putPlace(box, at);
    }

    /** Copies a block into its object, and writes the object before if this is another one. */
    private void gather(BoxCopy.Block block) throws IOException {
      Shape object = target.written.array().layout().shape();
      Shape extents = target.written.array().shape();
      long[] low = block.low().clone();
      long[] size = low.clone();
      long[] high = low.clone();
      for (int axis = 0; axis < low.length; axis++) {
        low[axis] -= low[axis] % object.extent(axis);
        size[axis] = Math.min(object.extent(axis), extents.extent(axis) - low[axis]);
        high[axis] += block.size()[axis];
      }
      int width = target.columns.encoder().to().elementBytes();
      if (open == null || !Arrays.equals(open.low(), low)) {
        writeOpen();
        missing = Shape.of(size).elements();
        if (gathered == null) {
          gathered = allocator.buffer(object.elements() * width);
        }
        HostMemory memory = Buffers.memory(gathered, 0, missing * width);
        open = new BoxCopy.Block(memory, low, size);
      }
      BoxCopy.copy(block, open, block.low(), high, width);
      missing -= Shape.of(block.size()).elements();
    }

    /** Writes the object whose blocks came last. */
    private void writeOpen() throws IOException {
      if (open == null) {
        return;
      }
      if (missing != 0) {
        throw target.columns.defect(
            open.low(),
            "the blocks of the chunk or shard of %s from there hold %s elements"
                .formatted(Shape.of(open.size()), Shape.of(open.size()).elements() - missing));
      }
      objects.write(open);
      open = null;
    }

    private void requireWhole(BlockColumns.Block block, long[] low, long[] size) {
      Shape object = target.written.array().layout().shape();
      Shape extents = target.written.array().shape();
      boolean isGathered = target.written.isGathered(target.columns.axes());
      for (int axis = isGathered ? target.columns.axes().leading().size() : 0;
          axis < low.length;
          axis++) {
        long end = low[axis] + size[axis];
        if (low[axis] % object.extent(axis) != 0
            || (end % object.extent(axis) != 0 && end != extents.extent(axis))) {
          throw target.columns.defect(
              block.offset(),
              "a block of %s holds parts of chunks or shards of %s, and each is written by one task; reblock the array to %s"
                  .formatted(Shape.of(block.size()), object, object));
        }
      }
    }

    /** The elements of the block in the array's stored type. */
    private HostMemory elements(BlockColumns.Block block) {
      NpyEncoder encoder = target.columns.encoder();
      if (NpyDecoder.isCopy(encoder.to(), encoder.from())) {
        return block.values()[0];
      }
      long bytes = Shape.of(block.size()).elements() * encoder.to().elementBytes();
      if (encoded == null || encoded.capacity() < bytes) {
        close(encoded);
        encoded = null;
        encoded = allocator.buffer(bytes);
      }
      HostMemory elements = Buffers.memory(encoded, 0, bytes);
      for (int part = 0; part < block.values().length; part++) {
        long bad = encoder.encode(block.values()[part], elements, part);
        if (bad >= 0) {
          throw target.columns.misfit(block, part, bad, ZarrWriteOptions.DTYPE);
        }
      }
      return elements;
    }

    private static void close(ArrowBuf buffer) {
      if (buffer != null) {
        buffer.close();
      }
    }

    @Override
    public void finish() throws IOException {
      writeOpen();
    }

    @Override
    public void close() {
      close(encoded);
      close(gathered);
      encoded = null;
      gathered = null;
      open = null;
      objects.close();
    }
  }
}
