package org.tilespark.spark.source.codec;

import com.github.luben.zstd.Zstd;
import java.io.Serializable;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32C;

/**
 * A codec from bytes to bytes with its settings, as chunks are written. Immutable. The same bytes
 * are encoded in the same way by each process with the same libraries.
 *
 * @param codec the codec
 * @param level effort of compression, in the codec's own numbers; 0 if the codec has no levels
 * @param blosc the settings of Blosc; null for other codecs
 */
public record ByteEncoder(ByteCodec codec, int level, BloscSettings blosc) implements Serializable {
  /**
   * The settings of Blosc, which shuffles bytes.
   *
   * @param inner name of the codec that compresses: {@code "lz4"} or {@code "zstd"}
   * @param width bytes of an element
   */
  public record BloscSettings(String inner, int width) implements Serializable {}

  /** Largest level of gzip and Blosc. */
  private static final int MOST_GZIP = 9;

  private static final int MOST_ZSTD = 22;

  /** The encoder that appends a CRC32C to the bytes. */
  public static final ByteEncoder CHECKSUM = new ByteEncoder(ByteCodec.CRC32C, 0, null);

  /**
   * Checks the level.
   *
   * @throws IllegalArgumentException if the codec does not have the level, or is one that is only
   *     read
   */
  public ByteEncoder {
    int most =
        switch (codec) {
          case ZSTD -> MOST_ZSTD;
          case GZIP, BLOSC -> MOST_GZIP;
          case CRC32C -> 0;
          case ZLIB, LZ4 ->
              throw new IllegalArgumentException(codec.id() + " is read and not written");
        };
    if (level < 0 || level > most) {
      throw new IllegalArgumentException(
          "level %s of %s; expected 0 to %s".formatted(level, codec.id(), most));
    }
  }

  /** The most bytes that the encoder makes of {@code bytes} bytes. */
  public long mostEncoded(long bytes) {
    return switch (codec) {
      case ZSTD -> Zstd.compressBound(bytes);
      case GZIP -> Deflate.mostEncoded(bytes);
      case BLOSC -> BloscEncoder.mostEncoded(bytes);
      case CRC32C -> bytes + Checksum.BYTES;
      case ZLIB, LZ4 -> throw new IllegalStateException(codec.id());
    };
  }

  /**
   * Encodes {@code bytes} from its position up to its limit into {@code encoded}, from its position
   * on, where {@link #mostEncoded} bytes have room. Both are outside the heap. Moves both
   * positions.
   *
   * @param memory scratch memory; borrowed
   */
  public void encode(ByteBuffer bytes, ByteBuffer encoded, CodecMemory memory) {
    switch (codec) {
      case ZSTD -> zstd(bytes, encoded, level);
      case GZIP -> Deflate.encode(bytes, encoded, level);
      case BLOSC -> BloscEncoder.encode(bytes, encoded, this, memory);
      case CRC32C -> checksum(bytes, encoded);
      case ZLIB, LZ4 -> throw new IllegalStateException(codec.id());
    }
  }

  /** Compresses into one frame that states its length; level 0 means the library's default. */
  static void zstd(ByteBuffer bytes, ByteBuffer encoded, int level) {
    long written =
        Zstd.compressDirectByteBuffer(
            encoded,
            encoded.position(),
            encoded.remaining(),
            bytes,
            bytes.position(),
            bytes.remaining(),
            level);
    if (Zstd.isError(written)) {
      throw new IllegalStateException("zstd: " + Zstd.getErrorName(written));
    }
    bytes.position(bytes.limit());
    encoded.position(encoded.position() + Math.toIntExact(written));
  }

  private static void checksum(ByteBuffer bytes, ByteBuffer encoded) {
    CRC32C sum = new CRC32C();
    sum.update(bytes.duplicate());
    encoded.put(bytes);
    ByteBuffer end = encoded.duplicate().order(ByteOrder.LITTLE_ENDIAN);
    end.putInt((int) sum.getValue());
    encoded.position(end.position());
  }
}
