package org.tilespark.spark.source.codec;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import net.jpountz.lz4.LZ4Compressor;
import net.jpountz.lz4.LZ4Factory;
import org.tilespark.kernels.memory.HostMemory;
import sun.misc.Unsafe;

/**
 * Encodes buffers of c-blosc 1, which {@link Blosc} describes: shuffled bytes in blocks of one
 * stream each. Stateless.
 */
final class BloscEncoder {
  private static final Unsafe MEMORY = HostMemory.unsafe();
  private static final LZ4Compressor LZ4 = LZ4Factory.fastestInstance().fastCompressor();

  private static final int HEADER_BYTES = 16;
  private static final int BLOCK_BYTES = 256 << 10;

  private static final byte FORMAT = 2;
  private static final byte INNER_FORMAT = 1;
  private static final int SHUFFLED = 1;
  private static final int STORED = 2;
  private static final int NOT_SPLIT = 16;
  private static final int OF_LZ4 = 1 << 5;
  private static final int OF_ZSTD = 4 << 5;

  /** Levels of zstd by the level of Blosc, 1 to 9, as in c-blosc; level 0 does not compress. */
  private static final int[] ZSTD_LEVELS = {1, 1, 3, 5, 7, 9, 11, 13, 15, 22};

  private BloscEncoder() {}

  static long mostEncoded(long bytes) {
    return HEADER_BYTES + bytes + 8 * (bytes / BLOCK_BYTES + 1) + 64;
  }

  static void encode(
      ByteBuffer bytes, ByteBuffer encoded, ByteEncoder settings, CodecMemory memory) {
    int length = bytes.remaining();
    int width = settings.blosc().width();
    ByteBuffer out = encoded.slice().order(ByteOrder.LITTLE_ENDIAN);
    int block = Math.max(1, Math.min(length, BLOCK_BYTES / width * width));
    int end = blocks(bytes.slice(), out, block, settings, memory);
    boolean stored = end < 0;
    if (stored) {
      end = HEADER_BYTES + length;
      out.put(HEADER_BYTES, bytes, bytes.position(), length);
    }
    boolean isLz4 = settings.blosc().inner().equals("lz4");
    int flags = SHUFFLED | NOT_SPLIT | (isLz4 ? OF_LZ4 : OF_ZSTD) | (stored ? STORED : 0);
    out.put(0, FORMAT).put(1, INNER_FORMAT).put(2, (byte) flags).put(3, (byte) width);
    out.putInt(4, length).putInt(8, block).putInt(12, end);
    bytes.position(bytes.limit());
    encoded.position(encoded.position() + end);
  }

  /**
   * Encodes all blocks; returns the end of the last one, or -1 if {@code in} is to be stored as it
   * is: at level 0, or if the blocks and their offsets would not be shorter.
   */
  private static int blocks(
      ByteBuffer in, ByteBuffer out, int block, ByteEncoder settings, CodecMemory memory) {
    int length = in.remaining();
    int count = (int) ((length + (long) block - 1) / block);
    int at = HEADER_BYTES + 4 * count;
    if (settings.level() == 0 || length == 0) {
      return -1;
    }
    ByteBuffer shuffled = memory.bytes(CodecMemory.Use.SHUFFLED, block);
    boolean isLz4 = settings.blosc().inner().equals("lz4");
    int most =
        isLz4
            ? LZ4.maxCompressedLength(block)
            : (int) com.github.luben.zstd.Zstd.compressBound(block);
    ByteBuffer packed = memory.bytes(CodecMemory.Use.PLANES, most);
    for (int i = 0; i < count; i++) {
      int start = i * block;
      int size = Math.min(block, length - start);
      shuffle(
          HostMemory.ofDirectBuffer(in).offset() + start,
          HostMemory.ofDirectBuffer(shuffled).offset(),
          size,
          settings.blosc().width());
      packed.clear();
      if (isLz4) {
        packed.position(LZ4.compress(shuffled, 0, size, packed, 0, most));
      } else {
        ByteEncoder.zstd(shuffled.slice(0, size), packed, ZSTD_LEVELS[settings.level()]);
      }
      packed.flip();
      ByteBuffer stream = packed.remaining() < size ? packed : shuffled.slice(0, size);
      int taken = stream.remaining();
      if (at + 4L + taken >= HEADER_BYTES + (long) length) {
        return -1;
      }
      out.putInt(HEADER_BYTES + 4 * i, at).putInt(at, taken);
      out.put(at + 4, stream, stream.position(), taken);
      at += 4 + taken;
    }
    return at;
  }

  /** Puts the first bytes of all elements before the second ones, and so on. */
  private static void shuffle(long in, long out, int bytes, int width) {
    int count = bytes / width;
    for (int b = 0; b < width; b++) {
      long plane = out + (long) b * count;
      for (int i = 0; i < count; i++) {
        MEMORY.putByte(plane + i, MEMORY.getByte(in + (long) i * width + b));
      }
    }
    long whole = (long) count * width;
    MEMORY.copyMemory(in + whole, out + whole, bytes - whole);
  }
}
