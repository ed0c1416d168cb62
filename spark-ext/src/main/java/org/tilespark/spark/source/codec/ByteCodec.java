package org.tilespark.spark.source.codec;

import com.github.luben.zstd.Zstd;
import com.github.luben.zstd.ZstdException;
import java.nio.ByteBuffer;

/** The codecs from bytes to bytes with which chunks of arrays are stored. Stateless. */
public enum ByteCodec {
  /** Members of RFC 1952, one after the other. */
  GZIP {
    @Override
    void run(ByteBuffer encoded, ByteBuffer decoded, CodecMemory memory) {
      Deflate.gzip(encoded, decoded);
    }
  },
  /** One stream of RFC 1950. */
  ZLIB {
    @Override
    void run(ByteBuffer encoded, ByteBuffer decoded, CodecMemory memory) {
      Deflate.zlib(encoded, decoded);
    }
  },
  /** Frames of RFC 8878, with or without the size of their content. */
  ZSTD {
    @Override
    void run(ByteBuffer encoded, ByteBuffer decoded, CodecMemory memory) {
      zstd(encoded, decoded);
    }
  },
  /** A buffer of c-blosc 1. */
  BLOSC {
    @Override
    void run(ByteBuffer encoded, ByteBuffer decoded, CodecMemory memory) {
      Blosc.decode(encoded, decoded, memory);
    }
  },
  /** A block of LZ4 after its length, as numcodecs stores it. */
  LZ4 {
    @Override
    void run(ByteBuffer encoded, ByteBuffer decoded, CodecMemory memory) {
      Lz4.sized(encoded, decoded);
    }
  },
  /** The unchanged bytes, followed by their CRC32C (RFC 3720), low byte first. */
  CRC32C {
    @Override
    void run(ByteBuffer encoded, ByteBuffer decoded, CodecMemory memory) {
      Checksum.verified(encoded, decoded);
    }
  };

  /**
   * Bytes that {@link #mostEncoded} allows for a codec's own fields, which outweigh a few data
   * bytes.
   */
  private static final long FIELDS_BYTES = 64 << 10;

  abstract void run(ByteBuffer encoded, ByteBuffer decoded, CodecMemory memory);

  /** The codec's name in metadata: {@code "zstd"}. */
  public String id() {
    return name().toLowerCase(java.util.Locale.ROOT);
  }

  /**
   * Decodes from {@code encoded}'s position up to its limit into {@code decoded}, from its position
   * to at most its limit, which is the most that is accepted. Both are outside the heap. Moves both
   * positions to their ends.
   *
   * @param memory scratch memory; borrowed
   * @throws IllegalArgumentException if the bytes are not this codec's, or do not fit into {@code
   *     decoded}; the message names the codec. Bytes written until then are meaningless.
   */
  public void decode(ByteBuffer encoded, ByteBuffer decoded, CodecMemory memory) {
    try {
      run(encoded, decoded, memory);
    } catch (IllegalArgumentException | ZstdException e) {
      throw new IllegalArgumentException(id() + ": " + e.getMessage(), e);
    }
  }

  /**
   * The most encoded bytes that any reasonable encoder gives for some bytes; longer ones are
   * refused before memory is taken for them.
   */
  public static long mostEncoded(long bytes) {
    return bytes + bytes / 2 + FIELDS_BYTES;
  }

  /** Decodes Zstandard frames. */
  static void zstd(ByteBuffer encoded, ByteBuffer decoded) {
    long written =
        Zstd.decompressDirectByteBuffer(
            decoded,
            decoded.position(),
            decoded.remaining(),
            encoded,
            encoded.position(),
            encoded.remaining());
    if (Zstd.isError(written)) {
      throw new IllegalArgumentException(
          "%s (%s bytes, decoded into room for %s)"
              .formatted(Zstd.getErrorName(written), encoded.remaining(), decoded.remaining()));
    }
    encoded.position(encoded.limit());
    decoded.position(decoded.position() + Math.toIntExact(written));
  }
}
