package org.tilespark.spark.source.codec;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.tilespark.kernels.memory.HostMemory;
import org.xerial.snappy.Snappy;

/**
 * Decodes buffers of c-blosc 1 (README_CHUNK_FORMAT.rst of c-blosc 1.21): a header of 16 bytes, the
 * offset of each block, then the blocks. A block consists of one stream or, if it is split, of one
 * stream for each byte of an element; each stream follows its length. Stateless.
 */
final class Blosc {
  private static final int HEADER_BYTES = 16;
  private static final int NEWEST_VERSION = 2;

  private static final int SHUFFLED = 1;
  private static final int STORED = 2;
  private static final int BIT_SHUFFLED = 4;
  private static final int NOT_SPLIT = 16;

  /**
   * Most bytes of an element in a block that is split; blocks of fewer than {@link #FEWEST_SPLIT}
   * elements are not split either.
   */
  private static final int WIDEST_SPLIT = 16;

  private static final int FEWEST_SPLIT = 128;

  private Blosc() {}

  static void decode(ByteBuffer encoded, ByteBuffer decoded, CodecMemory memory) {
    ByteBuffer in = encoded.slice().order(ByteOrder.LITTLE_ENDIAN);
    if (in.remaining() < HEADER_BYTES) {
      throw new IllegalArgumentException(
          in.remaining() + " bytes; expected at least the " + HEADER_BYTES + " of the header");
    }
    int version = in.get(0) & 0xff;
    if (version < 1 || version > NEWEST_VERSION) {
      throw new IllegalArgumentException(
          "format version %s; expected at most %s, of c-blosc 1"
              .formatted(version, NEWEST_VERSION));
    }
    Header header =
        new Header(in.get(2) & 0xff, Math.max(1, in.get(3) & 0xff), in.getInt(4), in.getInt(8));
    Room.require(Integer.toUnsignedLong(header.bytes), decoded);
    if (in.getInt(12) != in.remaining()) {
      throw new IllegalArgumentException(
          "the header states %s bytes, found %s"
              .formatted(Integer.toUnsignedLong(in.getInt(12)), in.remaining()));
    }
    ByteBuffer out = decoded.slice().limit(header.bytes);
    if ((header.flags & STORED) != 0) {
      if (in.remaining() != HEADER_BYTES + header.bytes) {
        throw new IllegalArgumentException(
            "%s stored bytes in a buffer of %s".formatted(header.bytes, in.remaining()));
      }
      out.put(in.position(HEADER_BYTES));
    } else if (header.bytes > 0) {
      blocks(header, in, out, memory);
    }
    encoded.position(encoded.limit());
    decoded.position(decoded.position() + header.bytes);
  }

  /**
   * The fields of the header.
   *
   * @param width bytes of an element
   * @param bytes count of decoded bytes
   * @param blockBytes decoded bytes of each block except the last
   */
  private record Header(int flags, int width, int bytes, int blockBytes) {
    int streams(int decodedBytes) {
      boolean splits =
          (flags & NOT_SPLIT) == 0
              && width <= WIDEST_SPLIT
              && blockBytes / width >= FEWEST_SPLIT
              && decodedBytes == blockBytes;
      return splits ? width : 1;
    }
  }

  private static void blocks(Header header, ByteBuffer in, ByteBuffer out, CodecMemory memory) {
    int blockBytes = header.blockBytes;
    if (blockBytes < 1 || blockBytes > header.bytes) {
      throw new IllegalArgumentException(
          "blocks of %s bytes, of %s in all".formatted(blockBytes, header.bytes));
    }
    int count = (int) ((header.bytes + (long) blockBytes - 1) / blockBytes);
    if (HEADER_BYTES + 4L * count > in.limit()) {
      throw new IllegalArgumentException(
          "%s blocks in a buffer of %s bytes".formatted(count, in.limit()));
    }
    boolean bits = (header.flags & BIT_SHUFFLED) != 0;
    boolean bytes = !bits && (header.flags & SHUFFLED) != 0 && header.width > 1;
    ByteBuffer shuffled = bits || bytes ? memory.bytes(CodecMemory.Use.SHUFFLED, blockBytes) : null;
    long planes = bits ? memory.buffer(CodecMemory.Use.PLANES, blockBytes).memoryAddress() : 0;
    long target = HostMemory.ofDirectBuffer(out).offset();
    for (int block = 0; block < count; block++) {
      int at = block * blockBytes;
      int length = Math.min(blockBytes, header.bytes - at);
      int start = in.getInt(HEADER_BYTES + 4 * block);
      if (start < HEADER_BYTES || start > in.limit()) {
        throw new IllegalArgumentException("block %s lies at byte %s".formatted(block, start));
      }
      if (shuffled == null) {
        streams(header, in, start, out.slice(at, length));
        continue;
      }
      streams(header, in, start, shuffled.slice(0, length));
      long source = HostMemory.ofDirectBuffer(shuffled).offset();
      if (bits && length >= header.width) {
        Unshuffle.bits(source, target + at, planes, length, header.width);
      } else if (bits) {
        out.put(at, shuffled, 0, length);
      } else {
        Unshuffle.bytes(source, target + at, length, header.width);
      }
    }
  }

  /** Decodes the streams of one block, which fill {@code out}. */
  private static void streams(Header header, ByteBuffer in, int start, ByteBuffer out) {
    int streams = header.streams(out.capacity());
    int length = out.capacity() / streams;
    int at = start;
    for (int stream = 0; stream < streams; stream++) {
      int encodedBytes = at <= in.limit() - 4 ? in.getInt(at) : -1;
      at += 4;
      if (encodedBytes < 0 || encodedBytes > in.limit() - at) {
        throw new IllegalArgumentException("a stream of a block is cut off");
      }
      ByteBuffer encoded = in.slice(at, encodedBytes);
      ByteBuffer decoded = out.slice(stream * length, length);
      at += encodedBytes;
      if (encodedBytes == length) {
        decoded.put(encoded);
      } else {
        stream(header.flags >> 5, encoded, decoded);
      }
    }
    if (length * streams != out.capacity()) {
      throw new IllegalArgumentException("a block of elements that are cut");
    }
  }

  private static void stream(int codec, ByteBuffer encoded, ByteBuffer decoded) {
    switch (codec) {
      case 0 -> {
        BloscLz.decode(encoded, decoded);
        decoded.position(decoded.limit());
      }
      case 1 -> Lz4.block(encoded, decoded);
      case 2 -> snappy(encoded, decoded);
      case 3 -> Deflate.zlib(encoded, decoded);
      case 4 -> ByteCodec.zstd(encoded, decoded);
      default -> throw new IllegalArgumentException("the inner codec number " + codec);
    }
    if (decoded.hasRemaining()) {
      throw new IllegalArgumentException(
          "a stream holds %s bytes, expected %s".formatted(decoded.position(), decoded.capacity()));
    }
  }

  private static void snappy(ByteBuffer encoded, ByteBuffer decoded) {
    try {
      Room.require(Snappy.uncompressedLength(encoded), decoded);
      int written = Snappy.uncompress(encoded, decoded); // Snappy sets limits, but no positions
      decoded.limit(decoded.capacity()).position(written);
    } catch (IOException e) {
      throw new IllegalArgumentException("no block of snappy: " + e.getMessage(), e);
    }
  }
}
