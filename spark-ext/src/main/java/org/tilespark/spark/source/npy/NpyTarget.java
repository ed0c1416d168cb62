package org.tilespark.spark.source.npy;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import org.apache.arrow.memory.BufferAllocator;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.numpy.NpyEncoder;
import org.tilespark.spark.numpy.NpyType;
import org.tilespark.spark.source.BlockSink;
import org.tilespark.spark.source.PosixWriter;

/**
 * The facts that tasks need to write blocks into one file: its path until it is committed, and its
 * array. Immutable.
 */
final class NpyTarget implements BlockSink.Target {
  private final String temporaryFile;
  private final NpyEncoder encoder;
  private final long dataOffset;
  private final long fileBytes;
  private final long[] extents;
  private final String extentsSource;
  private final boolean durable;
  private final BlockKind kind;
  private final int[] ordinals; // offsets, sizes, values[, imag]

  /**
   * A target.
   *
   * @param temporaryFile the hidden file, whole in length, on storage that all executors see
   * @param header header of that file
   * @param restored true if the type is that of a file that was read, so that values must be exact
   * @param extentsSource source of the extents, for messages
   * @param durable true if the bytes must be on the disk before the file gets its name
   * @param schema ordinals of the blocks' columns
   */
  NpyTarget(
      String temporaryFile,
      NpyHeader header,
      boolean restored,
      String extentsSource,
      boolean durable,
      BlockSchema schema) {
    this.temporaryFile = temporaryFile;
    this.encoder = new NpyEncoder(schema.elementType(), header.type(), restored);
    this.dataOffset = header.dataOffset();
    this.fileBytes = header.fileBytes();
    this.extents = header.shape().toArray();
    this.extentsSource = extentsSource;
    this.durable = durable;
    this.kind = schema.kind();
    this.ordinals = schema.blockColumns().stream().mapToInt(Integer::intValue).toArray();
  }

  @Override
  public String place() {
    return temporaryFile;
  }

  @Override
  public int rank() {
    return kind.rank();
  }

  @Override
  public BlockSink.Writer open(BufferAllocator allocator) throws IOException {
    return new NpyBlockWriter(this, PosixWriter.open(Path.of(temporaryFile), fileBytes, allocator));
  }

  NpyType type() {
    return encoder.to();
  }

  /** The encoder of the columns' numbers as the file's elements. */
  NpyEncoder encoder() {
    return encoder;
  }

  /** True if the bytes must be on the disk before the file gets its name. */
  boolean isDurable() {
    return durable;
  }

  long dataOffset() {
    return dataOffset;
  }

  BlockKind kind() {
    return kind;
  }

  /** Extents of the array; not to be changed. */
  long[] extents() {
    return extents;
  }

  String extentsText() {
    return Arrays.toString(extents) + " (from " + extentsSource + ")";
  }

  /** Ordinal of the place column of an axis. */
  int offsetOrdinal(int axis) {
    return ordinals[axis];
  }

  /** Ordinal of the size column of an axis. */
  int sizeOrdinal(int axis) {
    return ordinals[kind.rank() + axis];
  }

  /** Ordinal of {@code values} (part 0) or {@code imag} (part 1). */
  int partOrdinal(int part) {
    return ordinals[2 * kind.rank() + part];
  }
}
