package org.tilespark.spark.source.npy;

import java.io.IOException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.numpy.NpyEncoder;
import org.tilespark.spark.rows.BlockCursor;
import org.tilespark.spark.source.BlockSink;
import org.tilespark.spark.source.BoxRuns;
import org.tilespark.spark.source.PosixWriter;

/** Puts blocks at their places in the file of an {@link NpyTarget}. Used by one thread. */
final class NpyBlockWriter implements BlockSink.Writer {
  private final NpyTarget target;
  private final PosixWriter file; // owned

  /**
   * A writer of one task attempt.
   *
   * @param file the target's; taken
   */
  NpyBlockWriter(NpyTarget target, PosixWriter file) {
    this.target = target;
    this.file = file;
  }

  @Override
  public void write(BlockCursor blocks, long[] box, int at) throws IOException {
    int rank = target.kind().rank();
    long[] offset = new long[rank];
    long[] size = new long[rank];
    place(blocks.row(), offset, size);
    long length = 1;
    for (long extent : size) {
      length = Math.multiplyExact(length, extent);
    }
    int parts = target.type().parts();
    HostMemory[] values = new HostMemory[parts];
    for (int part = 0; part < parts; part++) {
      values[part] = values(blocks, part, offset, size, length);
    }
    BoxRuns runs = new BoxRuns(target.extents(), offset, size);
    file.store(
        () -> {
          for (long run = 0; run < runs.count(); run++) {
            put(values, run * runs.elements(), runs.elements(), runs.start(run), offset, size);
          }
        });
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

  private HostMemory values(BlockCursor blocks, int part, long[] offset, long[] size, long length) {
    String column = part == 0 ? BlockKind.VALUES : BlockKind.IMAG;
    int ordinal = target.partOrdinal(part);
    requireValue(blocks.row(), ordinal, column);
    int found = blocks.length(ordinal);
    if (found != length) {
      throw defect(
          offset,
          "%s has %s elements; expected %s = %s".formatted(column, found, sizeText(size), length));
    }
    long missing = blocks.firstNull(ordinal);
    if (missing >= 0) {
      throw defect(
          offset, column + " has a null at element " + missing + "; expected numbers only");
    }
    return blocks.values(ordinal, target.encoder().from()).values();
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

  /** Encodes a run of a block to where it is in the file. */
  private void put(
      HostMemory[] values, long first, long count, long start, long[] offset, long[] size)
      throws IOException {
    int elementBytes = target.type().elementBytes();
    NpyEncoder encoder = target.encoder();
    int width = encoder.from().bytes();
    long done = 0;
    while (done < count) {
      long position = target.dataOffset() + (start + done) * elementBytes;
      HostMemory to = file.room(position, (count - done) * elementBytes);
      long piece = to.bytes() / elementBytes;
      for (int part = 0; part < values.length; part++) {
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
      done += piece;
    }
  }

  private IllegalArgumentException defect(long[] offset, String what) {
    return new IllegalArgumentException(target.kind().describe(offset) + ": " + what);
  }

  @Override
  public void finish() throws IOException {
    file.finish(target.isDurable());
  }

  @Override
  public void close() throws IOException {
    file.close();
  }
}
