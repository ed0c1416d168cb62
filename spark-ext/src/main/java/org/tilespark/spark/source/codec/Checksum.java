package org.tilespark.spark.source.codec;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32C;

/** Bytes that are stored with their CRC32C. Stateless. */
public final class Checksum {
  /** Length of the checksum, in bytes. */
  public static final int BYTES = 4;

  private Checksum() {}

  /**
   * Checks the checksum at the end of a buffer; returns a buffer of the bytes before it.
   *
   * @throws IllegalArgumentException if the checksum is wrong
   */
  public static ByteBuffer verify(ByteBuffer encoded) {
    if (encoded.remaining() < BYTES) {
      throw new IllegalArgumentException(
          encoded.remaining() + " bytes; expected at least the " + BYTES + " of the checksum");
    }
    int end = encoded.limit() - BYTES;
    ByteBuffer content = encoded.duplicate().limit(end);
    CRC32C sum = new CRC32C();
    sum.update(content.duplicate());
    int stored = encoded.duplicate().order(ByteOrder.LITTLE_ENDIAN).getInt(end);
    if (stored != (int) sum.getValue()) {
      throw new IllegalArgumentException(
          "the bytes have the checksum %08x, the stored one is %08x: they were damaged"
              .formatted((int) sum.getValue(), stored));
    }
    return content;
  }

  static void verified(ByteBuffer encoded, ByteBuffer decoded) {
    ByteBuffer content = verify(encoded);
    Room.require(content.remaining(), decoded);
    decoded.put(content);
    encoded.position(encoded.limit());
  }
}
