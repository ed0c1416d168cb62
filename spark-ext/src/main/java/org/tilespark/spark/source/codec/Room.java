package org.tilespark.spark.source.codec;

import java.nio.ByteBuffer;

/** Checks of lengths that encoded bytes state. Stateless. */
final class Room {
  private Room() {}

  /**
   * Checks that decoded bytes fit their buffer.
   *
   * @param bytes count that the encoded bytes state, unsigned
   */
  static void require(long bytes, ByteBuffer decoded) {
    if (bytes < 0 || bytes > decoded.remaining()) {
      throw new IllegalArgumentException(
          "%s bytes are encoded; expected at most %s".formatted(bytes, decoded.remaining()));
    }
  }
}
