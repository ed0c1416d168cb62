package org.tilespark.spark.source.npy;

import java.io.IOException;
import java.nio.file.Path;
import org.apache.arrow.memory.BufferAllocator;
import org.tilespark.spark.numpy.NpyEncoder;
import org.tilespark.spark.source.BlockColumns;
import org.tilespark.spark.source.BlockSink;
import org.tilespark.spark.source.PosixWriter;
import org.tilespark.spark.source.WrittenBlocks;

/**
 * The facts that tasks need to write blocks into one file: its path until it is committed, and its
 * array. Immutable.
 */
final class NpyTarget implements BlockSink.Target {
  private final String temporaryFile;
  private final BlockColumns columns;
  private final long dataOffset;
  private final long fileBytes;
  private final boolean durable;

  /**
   * A target.
   *
   * @param temporaryFile the hidden file, which has its full length, on storage that all executors
   *     see
   * @param header header of that file
   * @param restored true if the type is that of a file that was read, so that values must be exact
   * @param extentsSource source of the extents, for messages
   * @param durable true if the bytes must be on the disk before the file gets its name
   * @param blocks columns of the blocks that tasks get
   */
  NpyTarget(
      String temporaryFile,
      NpyHeader header,
      boolean restored,
      String extentsSource,
      boolean durable,
      WrittenBlocks blocks) {
    this.temporaryFile = temporaryFile;
    NpyEncoder encoder = new NpyEncoder(blocks.schema().elementType(), header.type(), restored);
    this.columns = new BlockColumns(blocks, encoder, header.shape(), extentsSource);
    this.dataOffset = header.dataOffset();
    this.fileBytes = header.fileBytes();
    this.durable = durable;
  }

  @Override
  public String place() {
    return temporaryFile;
  }

  @Override
  public int rank() {
    return columns.axes().rank();
  }

  @Override
  public BlockSink.Writer open(BufferAllocator allocator) throws IOException {
    return new NpyBlockWriter(this, PosixWriter.open(Path.of(temporaryFile), fileBytes, allocator));
  }

  /** The columns of the blocks that tasks get. */
  BlockColumns columns() {
    return columns;
  }

  /** True if the bytes must be on the disk before the file gets its name. */
  boolean isDurable() {
    return durable;
  }

  long dataOffset() {
    return dataOffset;
  }
}
