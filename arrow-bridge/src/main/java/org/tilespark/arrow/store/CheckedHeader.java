package org.tilespark.arrow.store;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * A header of 16 bytes before data in a file or on the network: the data's length, a checksum, and
 * a checksum of both, so that a corrupt length is never used. Little-endian:
 *
 * <pre>
 *   | bytes: 8 | checksum: 4 | CRC32C of the 12 bytes before: 4 |
 * </pre>
 *
 * @param bytes length of the data
 * @param checksum checksum of the data, or a number that identifies the data
 */
public record CheckedHeader(long bytes, int checksum) {
  /** Bytes of an encoded header. */
  public static final int BYTES = 16;

  private static final int CHECKED_BYTES = 12;

  /** The header's bytes as they are written. */
  public byte[] encoded() {
    ByteBuffer header = ByteBuffer.allocate(BYTES).order(ByteOrder.LITTLE_ENDIAN);
    header.putLong(bytes).putInt(checksum);
    return header.putInt(Crc32c.of(header.array(), 0, CHECKED_BYTES)).array();
  }

  /**
   * Reads a header.
   *
   * @param encoded the header's {@link #BYTES} bytes
   * @param mostBytes most bytes that a valid header can state
   * @throws CorruptDataException if the header's checksum is wrong, or the length negative or
   *     beyond {@code mostBytes}
   */
  public static CheckedHeader of(byte[] encoded, long mostBytes) throws CorruptDataException {
    ByteBuffer header = ByteBuffer.wrap(encoded).order(ByteOrder.LITTLE_ENDIAN);
    int found = Crc32c.of(encoded, 0, CHECKED_BYTES);
    int stated = header.getInt(CHECKED_BYTES);
    if (found != stated) {
      throw new CorruptDataException(
          "A header has checksum %08x, and states %08x".formatted(found, stated));
    }
    long bytes = header.getLong(0);
    if (bytes < 0 || bytes > mostBytes) {
      throw new CorruptDataException(
          "A header states %d bytes; expected 0 to %d".formatted(bytes, mostBytes));
    }
    return new CheckedHeader(bytes, header.getInt(Long.BYTES));
  }
}
