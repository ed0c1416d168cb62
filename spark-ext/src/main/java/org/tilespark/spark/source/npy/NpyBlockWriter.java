package org.tilespark.spark.source.npy;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.StandardOpenOption;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.spark.sql.catalyst.InternalRow;
import org.tilespark.arrow.memory.Buffers;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.spark.block.ArrayValues;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.numpy.NpyEncoder;
import org.tilespark.spark.numpy.NpyType;
import org.tilespark.spark.source.BlockSink;
import org.tilespark.spark.source.BoxRuns;

/**
 * Puts blocks at their places in the file of an {@link NpyTarget}.
 *
 * <p>It never makes the file: an attempt that comes after the job was committed or aborted finds
 * none and fails, and attempts that run twice write the same bytes to the same places. Used by one
 * thread. Owns its buffer and the open file until {@link #close()}.
 */
final class NpyBlockWriter implements BlockSink.Writer {
  private static final int BUFFER_BYTES = 4 << 20;

  private final NpyTarget target;
  private final FileChannel channel;
  private final ArrowBuf buffer;
  private long bufferStart; // place in the file of the buffer's first byte
  private int filled; // bytes of the buffer in use

  /**
   * A writer of one task attempt.
   *
   * @param allocator borrowed for the buffer
   * @throws IOException if the file is not there: this machine does not share the target's storage,
   *     or the job is over
   */
  NpyBlockWriter(NpyTarget target, BufferAllocator allocator) throws IOException {
    this.target = target;
    try {
      this.channel = FileChannel.open(target.temporaryFile(), StandardOpenOption.WRITE);
    } catch (NoSuchFileException e) {
      throw new IOException(
          ("This executor does not see %s, which the driver made. format npy writes to"
                  + " a path that the driver and all executors share")
              .formatted(target.temporaryFile()),
          e);
    }
    try {
      this.buffer = allocator.buffer(BUFFER_BYTES);
    } catch (Throwable t) {
      channel.close();
      throw t;
    }
  }

  @Override
  public void write(InternalRow row, long[] box, int at) throws IOException {
    int rank = target.kind().rank();
    long[] offset = new long[rank];
    long[] size = new long[rank];
    place(row, offset, size);
    long length = 1;
    for (long extent : size) {
      length = Math.multiplyExact(length, extent);
    }
    int parts = target.type().parts();
    HostMemory[] values = new HostMemory[parts];
    for (int part = 0; part < parts; part++) {
      values[part] = values(row, part, offset, size, length);
    }
    BoxRuns runs = new BoxRuns(target.extents(), offset, size);
    for (long run = 0; run < runs.count(); run++) {
      put(values, run * runs.elements(), runs.elements(), runs.start(run), offset, size);
    }
    System.arraycopy(offset, 0, box, at, rank);
    System.arraycopy(size, 0, box, at + rank, rank);
  }

  private void place(InternalRow row, long[] offset, long[] size) {
    BlockKind kind = target.kind();
    for (int axis = 0; axis < offset.length; axis++) {
      requireValue(row, target.offsetOrdinal(axis), kind.offsetColumns().get(axis));
      requireValue(row, target.sizeOrdinal(axis), kind.sizeColumns().get(axis));
      offset[axis] = row.getLong(target.offsetOrdinal(axis));
      size[axis] = row.getInt(target.sizeOrdinal(axis));
    }
    for (int axis = 0; axis < offset.length; axis++) {
      if (size[axis] < 1) {
        throw defect(
            offset, kind.sizeColumns().get(axis) + " is " + size[axis] + "; expected 1 or more");
      }
      long extent = target.extents()[axis];
      if (offset[axis] < 0 || size[axis] > extent || offset[axis] > extent - size[axis]) {
        throw defect(
            offset,
            ("%s %s with %s %s lies outside the stated extents %s; the option %s"
                    + " overrides them")
                .formatted(
                    kind.offsetColumns().get(axis),
                    offset[axis],
                    kind.sizeColumns().get(axis),
                    size[axis],
                    target.extentsText(),
                    NpyOptions.EXTENTS));
      }
    }
  }

  private void requireValue(InternalRow row, int ordinal, String column) {
    if (row.isNullAt(ordinal)) {
      StringBuilder text = new StringBuilder("block at ");
      for (int axis = 0; axis < target.kind().rank(); axis++) {
        int place = target.offsetOrdinal(axis);
        text.append(axis == 0 ? "" : ", ")
            .append(target.kind().offsetColumns().get(axis))
            .append(' ')
            .append(row.isNullAt(place) ? "null" : Long.toString(row.getLong(place)));
      }
      throw new IllegalArgumentException(
          text.append(": column ").append(column).append(" is null; expected a value").toString());
    }
  }

  private HostMemory values(InternalRow row, int part, long[] offset, long[] size, long length) {
    String column = part == 0 ? BlockKind.VALUES : BlockKind.IMAG;
    int ordinal = target.partOrdinal(part);
    requireValue(row, ordinal, column);
    var array = row.getArray(ordinal);
    if (array.numElements() != length) {
      throw defect(
          offset,
          "%s has %s elements; expected %s = %s"
              .formatted(column, array.numElements(), sizeText(size), length));
    }
    long missing = ArrayValues.firstNull(array);
    if (missing >= 0) {
      throw defect(
          offset, column + " has a null at element " + missing + "; expected numbers only");
    }
    return ArrayValues.memory(array, target.encoder().from());
  }

  private String sizeText(long[] size) {
    StringBuilder text = new StringBuilder();
    for (int axis = 0; axis < size.length; axis++) {
      text.append(axis == 0 ? "" : " * ")
          .append(target.kind().sizeColumns().get(axis))
          .append(' ')
          .append(size[axis]);
    }
    return text.toString();
  }

  /** Encodes a run of a block and passes it on to the file as the buffer fills. */
  private void put(
      HostMemory[] values, long first, long count, long start, long[] offset, long[] size)
      throws IOException {
    NpyType type = target.type();
    NpyEncoder encoder = target.encoder();
    long position = target.dataOffset() + start * type.elementBytes();
    if (position != bufferStart + filled) {
      flush();
      bufferStart = position;
    }
    long done = 0;
    while (done < count) {
      if (filled == BUFFER_BYTES) {
        flush();
      }
      long piece = Math.min(count - done, (BUFFER_BYTES - filled) / type.elementBytes());
      HostMemory to = Buffers.memory(buffer, filled, piece * type.elementBytes());
      for (int part = 0; part < values.length; part++) {
        int width = encoder.from().bytes();
        HostMemory from = values[part].slice((first + done) * width, piece * width);
        long bad = encoder.encode(from, to, part);
        if (bad >= 0) {
          throw defect(
              offset,
              encoder.misfit(
                  values[part],
                  part,
                  first + done + bad,
                  offset,
                  size,
                  "the option " + NpyOptions.DTYPE));
        }
      }
      filled += Math.toIntExact(piece * type.elementBytes());
      done += piece;
    }
  }

  private IllegalArgumentException defect(long[] offset, String what) {
    return new IllegalArgumentException(target.kind().describe(offset) + ": " + what);
  }

  /** Hands the buffered bytes to the operating system. */
  private void flush() throws IOException {
    if (filled == 0) {
      return;
    }
    ByteBuffer bytes = buffer.nioBuffer(0, filled);
    long at = bufferStart;
    try {
      while (bytes.hasRemaining()) {
        at += channel.write(bytes, at);
      }
    } catch (IOException e) {
      throw notWritten(bytes.remaining(), at, e);
    }
    bufferStart = at;
    filled = 0;
  }

  /**
   * Hands all that was written to the operating system, and to the disk if the target is durable.
   */
  @Override
  public void finish() throws IOException {
    flush();
    if (!target.isDurable()) {
      return;
    }
    try {
      channel.force(false); // some file systems find out here that they are full
    } catch (IOException e) {
      throw notWritten(0, target.dataOffset(), e);
    }
  }

  private IOException notWritten(int bytes, long at, IOException why) {
    if (why instanceof ClosedByInterruptException) {
      return why; // the task is killed
    }
    java.nio.file.Path file = target.temporaryFile();
    long elements = 1;
    for (long extent : target.extents()) {
      elements *= extent;
    }
    long free = -1;
    try {
      free = Files.getFileStore(file).getUsableSpace();
    } catch (IOException unknown) {
      why.addSuppressed(unknown);
    }
    return new IOException(
        "Cannot write %s%s: %s; the whole file takes %s bytes%s"
            .formatted(
                bytes > 0 ? bytes + " bytes at " + at + " of " : "",
                file,
                why.getMessage(),
                target.dataOffset() + elements * target.type().elementBytes(),
                free < 0 ? "" : ", the file system has " + free + " bytes free"),
        why);
  }

  @Override
  public void close() throws IOException {
    try {
      channel.close();
    } finally {
      buffer.close();
    }
  }
}
