package org.tilespark.spark.source.codec;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import net.jpountz.lz4.LZ4Exception;
import net.jpountz.lz4.LZ4Factory;
import net.jpountz.lz4.LZ4SafeDecompressor;

/** Decodes LZ4 blocks. Stateless. */
final class Lz4 {
  private static final LZ4SafeDecompressor BLOCKS = decompressor();

  private Lz4() {}

  /** The native decoder, or the one in checked Java: the one in unchecked Java trusts its input. */
  private static LZ4SafeDecompressor decompressor() {
    try {
      return LZ4Factory.nativeInstance().safeDecompressor();
    } catch (LinkageError e) {
      return LZ4Factory.safeInstance().safeDecompressor();
    }
  }

  static void sized(ByteBuffer encoded, ByteBuffer decoded) {
    if (encoded.remaining() < 4) {
      throw new IllegalArgumentException(
          encoded.remaining() + " bytes; expected at least the 4 of the length");
    }
    ByteBuffer in = encoded.duplicate().order(ByteOrder.LITTLE_ENDIAN);
    int length = in.getInt();
    Room.require(Integer.toUnsignedLong(length), decoded);
    ByteBuffer out = decoded.duplicate().limit(decoded.position() + length);
    if (length > 0 || in.remaining() > 1) {
      block(in, out);
    }
    if (out.hasRemaining()) {
      throw new IllegalArgumentException(
          "the block ends after %s bytes, %s were stated"
              .formatted(length - out.remaining(), length));
    }
    encoded.position(encoded.limit());
    decoded.position(out.position());
  }

  /** Decodes one block; moves the position of {@code decoded}. */
  static void block(ByteBuffer encoded, ByteBuffer decoded) {
    try {
      int written =
          BLOCKS.decompress(
              encoded,
              encoded.position(),
              encoded.remaining(),
              decoded,
              decoded.position(),
              decoded.remaining());
      decoded.position(decoded.position() + written);
    } catch (LZ4Exception e) {
      throw new IllegalArgumentException("no block of LZ4: " + e.getMessage(), e);
    }
  }
}
