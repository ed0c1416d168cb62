package org.tilespark.arrow.store;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.WritableByteChannel;
import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.memory.util.MemoryUtil;
import org.tilespark.kernels.memory.HostMemory;

/** The rows of one output for which memory had no room: runs of whole frames in a file. */
final class OverflowRuns implements AutoCloseable {
  private static final int PIECE_BYTES = 1 << 20;

  private record Run(long start, long bytes) {}

  private final FileChannel file; // owned
  private final List<List<Run>> runs = new ArrayList<>(); // of each partition
  private final long[] bytes; // of each partition: bytes of its runs
  private final int[] checksums; // of each partition: CRC32C of its runs

  /** A file without runs; takes ownership of {@code file}. */
  OverflowRuns(FileChannel file, int partitions) {
    this.file = file;
    this.bytes = new long[partitions];
    this.checksums = new int[partitions];
    for (int p = 0; p < partitions; p++) {
      runs.add(new ArrayList<>());
    }
  }

  /** Appends a run of frames that are in memory. */
  void append(int partition, Frames frames) throws IOException {
    long start = file.position();
    frames.giveTo(new MapOutput.ChannelSink(file));
    ended(partition, start, frames.checksum());
  }

  /** Appends a run of one frame with one row, from any memory. */
  void append(int partition, HostMemory row, int fields) throws IOException {
    long start = file.position();
    file.position(start + CheckedHeader.BYTES);
    Crc32c sum = new Crc32c();
    try (Piece piece = new Piece(sum)) {
      piece.put(HostMemory.ofArray(new long[] {RowImage.header(row.bytes(), fields)}));
      piece.put(row);
    }
    CheckedHeader header = new CheckedHeader(RowImage.HEADER_BYTES + row.bytes(), sum.value());
    ByteBuffer encoded = ByteBuffer.wrap(header.encoded());
    for (long at = start; encoded.hasRemaining(); ) {
      at += file.write(encoded, at);
    }
    ended(partition, start, Frames.checksum(0, header));
  }

  private void ended(int partition, long start, int checksum) throws IOException {
    long length = file.position() - start;
    if (length > 0) {
      runs.get(partition).add(new Run(start, length));
      bytes[partition] += length;
      checksums[partition] = Crc32c.combine(checksums[partition], checksum, length);
    }
  }

  /** A buffer for bytes on their way to the file, whose checksum it computes. */
  private final class Piece implements AutoCloseable {
    private final ByteBuffer buffer = ByteBuffer.allocateDirect(PIECE_BYTES);
    private final long address = MemoryUtil.getByteBufferAddress(buffer);
    private final Crc32c sum;

    Piece(Crc32c sum) {
      this.sum = sum;
    }

    void put(HostMemory from) throws IOException {
      for (long at = 0; at < from.bytes(); ) {
        int count = (int) Math.min(buffer.remaining(), from.bytes() - at);
        from.slice(at, count).copyTo(HostMemory.ofAddress(address + buffer.position(), count));
        buffer.position(buffer.position() + count);
        at += count;
        if (!buffer.hasRemaining()) {
          close();
        }
      }
    }

    @Override
    public void close() throws IOException {
      sum.update(address, buffer.position());
      MapOutput.writeAll(buffer.flip(), file);
      buffer.clear();
    }
  }

  /** Bytes of a partition's runs. */
  long bytes(int partition) {
    return bytes[partition];
  }

  /** CRC32C of a partition's runs in their order. */
  int checksum(int partition) {
    return checksums[partition];
  }

  /** Copies a partition's runs in the order in which they were written. */
  void copyTo(int partition, WritableByteChannel channel) throws IOException {
    for (Run run : runs.get(partition)) {
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
