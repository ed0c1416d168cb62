package org.tilespark.spark.source.codec;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32;
import java.util.zip.DataFormatException;
import java.util.zip.Deflater;
import java.util.zip.Inflater;

/** The deflate streams of zlib and gzip, by the JDK. Stateless. */
final class Deflate {
  private static final int GZIP_HEADER_BYTES = 10;
  private static final int GZIP_TRAILER_BYTES = 8;

  private static final int HAS_HEADER_CHECKSUM = 2;
  private static final int HAS_EXTRA = 4;
  private static final int HAS_NAME = 8;
  private static final int HAS_COMMENT = 16;

  private Deflate() {}

  static void zlib(ByteBuffer encoded, ByteBuffer decoded) {
    inflate(encoded, decoded, false);
    if (encoded.hasRemaining()) {
      throw new IllegalArgumentException(encoded.remaining() + " bytes follow the stream");
    }
  }

  /**
   * The most bytes of a gzip member that holds {@code bytes} bytes: deflate stores incompressible
   * ones in blocks of at least 16,383 bytes, each with a few bytes of header.
   */
  static long mostEncoded(long bytes) {
    return bytes + bytes / 1024 + 64;
  }

  /**
   * Writes one gzip member, without a modification time: the same bytes always give the same
   * member.
   */
  static void encode(ByteBuffer bytes, ByteBuffer encoded, int level) {
    encoded.put((byte) 0x1f).put((byte) 0x8b).put((byte) 8).put(new byte[6]).put((byte) 255);
    CRC32 sum = new CRC32();
    sum.update(bytes.duplicate());
    int length = bytes.remaining();
    Deflater deflater = new Deflater(level, true);
    try {
      deflater.setInput(bytes);
      deflater.finish();
      while (!deflater.finished()) {
        if (deflater.deflate(encoded) == 0 && !deflater.finished()) {
          throw new IllegalStateException("gzip: no room for " + length + " bytes");
        }
      }
    } finally {
      deflater.end();
    }
    ByteBuffer trailer = encoded.duplicate().order(ByteOrder.LITTLE_ENDIAN);
    trailer.putInt((int) sum.getValue()).putInt(length);
    encoded.position(trailer.position());
  }

  static void gzip(ByteBuffer encoded, ByteBuffer decoded) {
    do {
      skipHeader(encoded);
      ByteBuffer written = decoded.duplicate();
      inflate(encoded, decoded, true);
      written.limit(decoded.position());
      requireTrailer(encoded, written);
    } while (encoded.hasRemaining());
  }

  /** Inflates one stream; moves both positions. If {@code raw}, it has no header of zlib. */
  private static void inflate(ByteBuffer encoded, ByteBuffer decoded, boolean raw) {
    Inflater inflater = new Inflater(raw);
    try {
      inflater.setInput(encoded);
      while (!inflater.finished()) {
        int written = inflater.inflate(decoded);
        if (written == 0 && !inflater.finished()) {
          throw new IllegalArgumentException(
              inflater.needsDictionary()
                  ? "the stream needs a dictionary"
                  : decoded.hasRemaining() || inflater.needsInput()
                      ? "the stream is cut off"
                      : "the stream has more than the " + decoded.limit() + " bytes expected");
        }
      }
    } catch (DataFormatException e) {
      throw new IllegalArgumentException("no deflate stream: " + e.getMessage(), e);
    } finally {
      inflater.end();
    }
  }

  private static void skipHeader(ByteBuffer encoded) {
    if (encoded.remaining() < GZIP_HEADER_BYTES
        || (encoded.get() & 0xff) != 0x1f
        || (encoded.get() & 0xff) != 0x8b
        || encoded.get() != 8) {
      throw new IllegalArgumentException("a member does not start with the bytes 1F 8B 08");
    }
    int flags = encoded.get();
    skip(encoded, 6);
    if ((flags & HAS_EXTRA) != 0) {
      int low = next(encoded);
      skip(encoded, low | next(encoded) << 8);
    }
    for (int text : new int[] {HAS_NAME, HAS_COMMENT}) {
      if ((flags & text) != 0) {
        while (next(encoded) != 0) {} // up to the end of the text
      }
    }
    if ((flags & HAS_HEADER_CHECKSUM) != 0) {
      skip(encoded, 2);
    }
  }

  private static int next(ByteBuffer encoded) {
    skip(encoded, 1);
    return encoded.get(encoded.position() - 1) & 0xff;
  }

  private static void skip(ByteBuffer encoded, int bytes) {
    if (bytes > encoded.remaining()) {
      throw new IllegalArgumentException("a member's header is cut off");
    }
    encoded.position(encoded.position() + bytes);
  }

  private static void requireTrailer(ByteBuffer encoded, ByteBuffer written) {
    if (encoded.remaining() < GZIP_TRAILER_BYTES) {
      throw new IllegalArgumentException("a member's checksum is cut off");
    }
    int at = encoded.position();
    ByteBuffer trailer = encoded.duplicate().order(ByteOrder.LITTLE_ENDIAN);
    encoded.position(at + GZIP_TRAILER_BYTES);
    CRC32 sum = new CRC32();
    int length = written.remaining();
    sum.update(written);
    if (trailer.getInt(at) != (int) sum.getValue() || trailer.getInt(at + 4) != length) {
      throw new IllegalArgumentException("a member's checksum or length differs: it was damaged");
    }
  }
}
