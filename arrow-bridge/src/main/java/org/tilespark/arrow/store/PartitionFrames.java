package org.tilespark.arrow.store;

import java.io.DataInput;
import java.io.EOFException;
import java.io.IOException;
import org.tilespark.kernels.memory.HostMemory;

/**
 * Reads the row images of a partition from the bytes that {@link MapOutput} wrote. It verifies a
 * frame's checksum before the frame's first image is given, and each image's header before that
 * image. For one thread.
 */
public final class PartitionFrames {
  /** Gives the bytes that follow the partition's header. */
  public interface Source {
    /**
     * The next bytes, valid until more are read.
     *
     * @param bytes count of bytes, no more than are left
     * @param sum checksum to which the bytes are added while they are in the CPU's cache
     */
    HostMemory read(long bytes, Crc32c sum) throws IOException;

    /** A source of bytes in memory, which it borrows. */
    static Source of(HostMemory all) {
      return new Source() {
        private long at;

        @Override
        public HostMemory read(long bytes, Crc32c sum) {
          HostMemory next = all.slice(at, bytes);
          at += bytes;
          sum.update(next);
          return next;
        }
      };
    }

    /** A source of the bytes of a stream; borrows the stream and the buffer. */
    static Source of(DataInput stream, Buffer buffer) {
      return (bytes, sum) -> buffer.read(stream, Math.toIntExact(bytes), sum);
    }
  }

  /**
   * Reads a stream frame by frame into an array on the heap, which may be reused for another
   * stream.
   */
  public static final class Buffer {
    private static final int PIECE_BYTES = 1 << 16; // stays in the processor's cache

    private byte[] frame = {};

    private HostMemory read(DataInput stream, int bytes, Crc32c sum) throws IOException {
      if (frame.length < bytes) {
        frame = new byte[bytes];
      }
      for (int at = 0; at < bytes; at += PIECE_BYTES) {
        int count = Math.min(PIECE_BYTES, bytes - at);
        try {
          stream.readFully(frame, at, count);
        } catch (EOFException e) {
          throw new CorruptDataException("The bytes end within " + bytes + " of a frame");
        }
        sum.update(frame, at, count);
      }
      return HostMemory.ofArray(frame).slice(0, bytes);
    }
  }

  private final Source source;
  private long left; // bytes of the partition that were not read
  private HostMemory frame = new HostMemory(new byte[0], 0, 0);
  private long at; // offset of the next image in the frame
  private long image; // offset of the image that was given last

  /** Reads frames that have {@code bytes} bytes together; borrows the source. */
  public PartitionFrames(Source source, long bytes) {
    this.source = source;
    this.left = bytes;
  }

  /**
   * Moves to the next image.
   *
   * @return false if there is no further image
   * @throws CorruptDataException if the bytes are not those that were written
   * @throws IOException if the source fails
   */
  public boolean next() throws IOException {
    if (at == frame.bytes()) {
      if (left == 0) {
        return false;
      }
      open();
    }
    image = at;
    checkRoom(RowImage.HEADER_BYTES, frame.bytes() - at);
    RowImage.check(header(), frame.bytes() - at);
    at += RowImage.HEADER_BYTES + RowImage.bytes(header());
    return true;
  }

  private void open() throws IOException {
    checkRoom(CheckedHeader.BYTES, left);
    byte[] encoded = new byte[CheckedHeader.BYTES];
    source.read(encoded.length, new Crc32c()).copyTo(HostMemory.ofArray(encoded));
    left -= encoded.length;
    CheckedHeader header = CheckedHeader.of(encoded, left);
    Crc32c sum = new Crc32c();
    frame = source.read(header.bytes(), sum);
    left -= header.bytes();
    at = 0;
    int found = sum.value();
    if (header.bytes() < RowImage.HEADER_BYTES || found != header.checksum()) {
      throw new CorruptDataException(
          "%d bytes of rows have checksum %08x; expected %08x"
              .formatted(header.bytes(), found, header.checksum()));
    }
  }

  private static void checkRoom(int needed, long room) throws CorruptDataException {
    if (room < needed) {
      throw new CorruptDataException(
          "%d bytes are left for a header of %d".formatted(room, needed));
    }
  }

  /** The header of the image that {@link #next} moved to. */
  public long header() {
    return HostMemory.unsafe().getLong(frame.base(), frame.offset() + image);
  }

  /** The bytes of that image's row, valid until the next frame is read. */
  public HostMemory row() {
    return frame.slice(image + RowImage.HEADER_BYTES, RowImage.bytes(header()));
  }
}
