package org.tilespark.arrow.store;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.channels.WritableByteChannel;
import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.memory.util.MemoryUtil;
import org.tilespark.kernels.memory.HostMemory;

/** The rows of one output that found no room in memory: runs of a file, each of one partition. */
final class OverflowRuns implements AutoCloseable {
  private static final int PIECE_BYTES = 1 << 20;

  private record Run(long start, long bytes) {}

  private final FileChannel file; // owned
  private final List<List<Run>> runs = new ArrayList<>(); // by partition
  private int partition; // of the run that is being written
  private long start;

  /** No runs yet; takes the file. */
  OverflowRuns(FileChannel file, int partitions) {
    this.file = file;
    for (int p = 0; p < partitions; p++) {
      runs.add(new ArrayList<>());
    }
  }

  /** Where runs are written to. */
  FileChannel channel() {
    return file;
  }

  /** Begins a run of a partition. */
  void begin(int ofPartition) throws IOException {
    partition = ofPartition;
    start = file.position();
  }

  /** Ends it. */
  void end() throws IOException {
    if (file.position() > start) {
      runs.get(partition).add(new Run(start, file.position() - start));
    }
  }

  /** A run of one row, wherever it lies. */
  void append(int ofPartition, HostMemory row, int fields) throws IOException {
    begin(ofPartition);
    ByteBuffer header = ByteBuffer.allocate(RowImage.HEADER_BYTES).order(ByteOrder.LITTLE_ENDIAN);
    MapOutput.writeAll(header.putLong(RowImage.header(row.bytes(), fields)).flip(), file);
    ByteBuffer piece = ByteBuffer.allocateDirect((int) Math.min(PIECE_BYTES, row.bytes()));
    HostMemory staged =
        HostMemory.ofAddress(MemoryUtil.getByteBufferAddress(piece), piece.capacity());
    for (long at = 0; at < row.bytes(); at += piece.capacity()) {
      int bytes = (int) Math.min(piece.capacity(), row.bytes() - at);
      row.slice(at, bytes).copyTo(staged);
      MapOutput.writeAll(piece.clear().limit(bytes), file);
    }
    end();
  }

  /** Copies a partition's runs in the order in which they were written. */
  void copyTo(int ofPartition, WritableByteChannel channel) throws IOException {
    for (Run run : runs.get(ofPartition)) {
      for (long at = 0; at < run.bytes; ) {
        long copied = file.transferTo(run.start + at, run.bytes - at, channel);
        if (copied <= 0) {
          throw new IOException("The file of an output's overflow ends at " + (run.start + at));
        }
        at += copied;
      }
    }
  }

  @Override
  public void close() {
    try {
      file.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
