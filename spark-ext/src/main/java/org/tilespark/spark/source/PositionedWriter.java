package org.tilespark.spark.source;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.tilespark.arrow.memory.Buffers;
import org.tilespark.kernels.memory.HostMemory;

/**
 * Collects bytes in a buffer and writes them by calls with a position. Long contiguous pieces are
 * written one by one while they are in the CPU's cache; short ones, for example rows of narrow
 * blocks, wait until the buffer is full, and those that are adjacent in the file are then written
 * in one call.
 */
final class PositionedWriter extends PosixWriter {
  private static final int BUFFER_BYTES = 4 << 20;

  /**
   * Least bytes of a piece that is written at once: for longer pieces a call is cheaper than
   * reading them into the cache again later.
   */
  private static final int LONG_BYTES = 8 << 10;

  private static final int MOST_BYTES = 256 << 10;

  private final ArrowBuf buffer; // owned
  private final List<Piece> pieces = new ArrayList<>(); // in the order of the buffer
  private int filled; // bytes of the buffer in use

  /** Bytes that are contiguous in the buffer and in the file. */
  private record Piece(long position, int start, int bytes) {
    long end() {
      return position + bytes;
    }
  }

  /**
   * A writer.
   *
   * @param channel channel of the file; closed by this writer, except if this constructor fails
   * @param allocator allocator of the buffer; borrowed
   */
  PositionedWriter(Path file, long fileBytes, FileChannel channel, BufferAllocator allocator) {
    super(file, fileBytes, channel);
    this.buffer = allocator.buffer(BUFFER_BYTES);
  }

  @Override
  public HostMemory room(long position, long bytes) throws IOException {
    int room = (int) Math.min(bytes, MOST_BYTES);
    if (bytes >= LONG_BYTES || filled + room > BUFFER_BYTES) {
      flush();
    }
    pieces.add(new Piece(position, filled, room));
    filled += room;
    return Buffers.memory(buffer, filled - room, room);
  }

  @Override
  protected void flush() throws IOException {
    pieces.sort(Comparator.comparingLong(Piece::position));
    for (int first = 0, next; first < pieces.size(); first = next) {
      next = first + 1;
      while (next < pieces.size() && pieces.get(next).position() == pieces.get(next - 1).end()) {
        next++;
      }
      write(pieces.subList(first, next));
    }
    pieces.clear();
    filled = 0;
  }

  /** Writes pieces that follow each other in the file. */
  private void write(List<Piece> neighbours) throws IOException {
    ByteBuffer[] sources = new ByteBuffer[neighbours.size()];
    for (int i = 0; i < sources.length; i++) {
      Piece piece = neighbours.get(i);
      sources[i] = buffer.nioBuffer(piece.start(), piece.bytes());
    }
    long position = neighbours.get(0).position();
    long end = neighbours.get(neighbours.size() - 1).end();
    int first = 0; // number of the first source that has bytes left
    try {
      if (sources.length > 1) {
        channel.position(position);
      }
      while (first < sources.length) {
        position +=
            sources.length > 1
                ? channel.write(sources, first, sources.length - first)
                : channel.write(sources[0], position);
        while (first < sources.length && !sources[first].hasRemaining()) {
          first++;
        }
      }
    } catch (IOException e) {
      throw notWritten(end - position, position, e);
    }
  }

  @Override
  public void close() throws IOException {
    try {
      super.close();
    } finally {
      buffer.close();
    }
  }
}
