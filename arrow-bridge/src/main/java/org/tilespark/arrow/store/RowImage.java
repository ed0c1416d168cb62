package org.tilespark.arrow.store;

import java.nio.ByteBuffer;
import org.apache.arrow.memory.util.MemoryUtil;
import org.tilespark.kernels.memory.HostMemory;

/**
 * The form of a row in memory, on the wire and in files: 8 bytes with its length and its count of
 * fields, then the row's bytes, whose length is a multiple of 8.
 *
 * <pre>
 *   | fields: 24 bits | bytes: 40 bits | bytes of the row ... |
 * </pre>
 */
public final class RowImage {
  /** Bytes of an image's header, which come before those of the row. */
  public static final int HEADER_BYTES = 8;

  private static final int LENGTH_BITS = 40;
  private static final long MOST_BYTES = Integer.MAX_VALUE; // of a row of Spark
  private static final int MOST_FIELDS = 1 << 24;

  private RowImage() {}

  /**
   * The first 8 bytes of an image.
   *
   * @throws IllegalArgumentException if a row cannot have this length or count of fields
   */
  public static long header(long bytes, int fields) {
    if (bytes < 0 || bytes > MOST_BYTES || bytes % 8 != 0 || fields < 0 || fields >= MOST_FIELDS) {
      throw new IllegalArgumentException(
          ("A row of %s bytes and %s fields; expected a multiple of 8 of at most %s bytes and fewer"
                  + " than %s fields")
              .formatted(bytes, fields, MOST_BYTES, MOST_FIELDS));
    }
    return bytes | (long) fields << LENGTH_BITS;
  }

  /**
   * Checks the header of an image that was read from a file or the network.
   *
   * @param room bytes that were read, from the header on
   * @throws CorruptDataException if no image can have this header
   */
  public static void check(long header, long room) throws CorruptDataException {
    long bytes = header & (1L << LENGTH_BITS) - 1;
    if (bytes > Math.min(MOST_BYTES, room - HEADER_BYTES)
        || bytes % 8 != 0
        || bytes < leastBytes(fields(header))) {
      throw new CorruptDataException(
          "A row of %d fields has %d bytes; expected a multiple of 8 from %d to %d"
              .formatted(
                  fields(header),
                  bytes,
                  leastBytes(fields(header)),
                  Math.min(MOST_BYTES, room - HEADER_BYTES)));
    }
  }

  /**
   * Bytes of a row whose fields are all null or of fixed width: null bits, then 8 bytes for each
   * field.
   */
  private static long leastBytes(int fields) {
    return 8L * ((fields + 63) / 64 + fields);
  }

  /** The row's length in bytes, which a header states. */
  public static int bytes(long header) {
    return (int) (header & (1L << LENGTH_BITS) - 1);
  }

  /** The row's count of fields, which a header states. */
  public static int fields(long header) {
    return (int) (header >>> LENGTH_BITS);
  }

  /** The header at an address outside the heap. */
  public static long headerAt(long address) {
    return HostMemory.unsafe().getLong(address);
  }

  /** The address after the image at {@code address}. */
  public static long endOf(long address) {
    return address + HEADER_BYTES + bytes(headerAt(address));
  }

  /** A view of memory outside the heap for channels; it does not keep the memory alive. */
  static ByteBuffer view(long address, int bytes) {
    return MemoryUtil.directBuffer(address, bytes);
  }
}
