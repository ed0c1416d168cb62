package org.tilespark.spark.source.codec;

import org.tilespark.kernels.memory.HostMemory;
import sun.misc.Unsafe;

/**
 * The inverses of Blosc's filters, which store the first bytes of all elements, then the second
 * ones, and so on, or the bits in the same way. Stateless.
 */
final class Unshuffle {
  private static final Unsafe MEMORY = HostMemory.unsafe();

  private Unshuffle() {}

  /**
   * Puts the bytes of each element together again.
   *
   * @param in address of the shuffled bytes: for each byte of an element its plane, that byte of
   *     all elements; then the bytes that make no whole element
   * @param out address that receives {@code bytes} bytes
   * @param width bytes of an element
   */
  static void bytes(long in, long out, int bytes, int width) {
    int count = bytes / width;
    switch (width) {
      case 2 -> pairs(in, out, count);
      case 4 -> quads(in, out, count);
      case 8 -> octets(in, out, count);
      default -> {
        for (int b = 0; b < width; b++) {
          long plane = in + (long) b * count;
          for (int i = 0; i < count; i++) {
            MEMORY.putByte(out + (long) i * width + b, MEMORY.getByte(plane + i));
          }
        }
      }
    }
    long whole = (long) count * width;
    MEMORY.copyMemory(in + whole, out + whole, bytes - whole);
  }

  private static void pairs(long in, long out, int count) {
    long second = in + count;
    for (int i = 0; i < count; i++) {
      int value = MEMORY.getByte(in + i) & 0xff | MEMORY.getByte(second + i) << 8;
      MEMORY.putShort(out + 2L * i, (short) value);
    }
  }

  private static void quads(long in, long out, int count) {
    long p1 = in + count;
    long p2 = p1 + count;
    long p3 = p2 + count;
    int i = 0;
    for (; i + 8 <= count; i += 8) {
      // For eight elements: bytes 0 and 1 of each, then bytes 2 and 3, as 16-bit lanes of words.
      long a = MEMORY.getLong(in + i);
      long b = MEMORY.getLong(p1 + i);
      long c = MEMORY.getLong(p2 + i);
      long d = MEMORY.getLong(p3 + i);
      long low01 = spread(a) | spread(b) << 8; // bytes 0 and 1 of elements 0 to 3
      long high01 = spread(a >>> 32) | spread(b >>> 32) << 8; // bytes 0 and 1 of elements 4 to 7
      long low23 = spread(c) | spread(d) << 8;
      long high23 = spread(c >>> 32) | spread(d >>> 32) << 8;
      long to = out + 4L * i;
      MEMORY.putLong(to, spread2(low01) | spread2(low23) << 16);
      MEMORY.putLong(to + 8, spread2(low01 >>> 32) | spread2(low23 >>> 32) << 16);
      MEMORY.putLong(to + 16, spread2(high01) | spread2(high23) << 16);
      MEMORY.putLong(to + 24, spread2(high01 >>> 32) | spread2(high23 >>> 32) << 16);
    }
    for (; i < count; i++) {
      int value =
          MEMORY.getByte(in + i) & 0xff
              | (MEMORY.getByte(p1 + i) & 0xff) << 8
              | (MEMORY.getByte(p2 + i) & 0xff) << 16
              | MEMORY.getByte(p3 + i) << 24;
      MEMORY.putInt(out + 4L * i, value);
    }
  }

  /** The lower four bytes of a word, each in 16 bits. */
  private static long spread(long word) {
    long wide = word & 0xffffffffL;
    wide = (wide | wide << 16) & 0x0000ffff0000ffffL;
    return (wide | wide << 8) & 0x00ff00ff00ff00ffL;
  }

  /** The lower two 16-bit lanes of a word, each in 32 bits. */
  private static long spread2(long word) {
    return word & 0xffffL | (word & 0xffff0000L) << 16;
  }

  private static void octets(long in, long out, int count) {
    int i = 0;
    for (; i + 8 <= count; i += 8) {
      long w0 = MEMORY.getLong(in + i);
      long w1 = MEMORY.getLong(in + count + i);
      long w2 = MEMORY.getLong(in + 2L * count + i);
      long w3 = MEMORY.getLong(in + 3L * count + i);
      long w4 = MEMORY.getLong(in + 4L * count + i);
      long w5 = MEMORY.getLong(in + 5L * count + i);
      long w6 = MEMORY.getLong(in + 6L * count + i);
      long w7 = MEMORY.getLong(in + 7L * count + i);
      // A transpose of 8 x 8 bytes: blocks of 4 x 4, of 2 x 2, then single bytes change places.
      long t;
      t = (w0 >>> 32 ^ w4) & 0xffffffffL;
      w0 ^= t << 32;
      w4 ^= t;
      t = (w1 >>> 32 ^ w5) & 0xffffffffL;
      w1 ^= t << 32;
      w5 ^= t;
      t = (w2 >>> 32 ^ w6) & 0xffffffffL;
      w2 ^= t << 32;
      w6 ^= t;
      t = (w3 >>> 32 ^ w7) & 0xffffffffL;
      w3 ^= t << 32;
      w7 ^= t;
      t = (w0 >>> 16 ^ w2) & 0x0000ffff0000ffffL;
      w0 ^= t << 16;
      w2 ^= t;
      t = (w1 >>> 16 ^ w3) & 0x0000ffff0000ffffL;
      w1 ^= t << 16;
      w3 ^= t;
      t = (w4 >>> 16 ^ w6) & 0x0000ffff0000ffffL;
      w4 ^= t << 16;
      w6 ^= t;
      t = (w5 >>> 16 ^ w7) & 0x0000ffff0000ffffL;
      w5 ^= t << 16;
      w7 ^= t;
      t = (w0 >>> 8 ^ w1) & 0x00ff00ff00ff00ffL;
      w0 ^= t << 8;
      w1 ^= t;
      t = (w2 >>> 8 ^ w3) & 0x00ff00ff00ff00ffL;
      w2 ^= t << 8;
      w3 ^= t;
      t = (w4 >>> 8 ^ w5) & 0x00ff00ff00ff00ffL;
      w4 ^= t << 8;
      w5 ^= t;
      t = (w6 >>> 8 ^ w7) & 0x00ff00ff00ff00ffL;
      w6 ^= t << 8;
      w7 ^= t;
      long to = out + 8L * i;
      MEMORY.putLong(to, w0);
      MEMORY.putLong(to + 8, w1);
      MEMORY.putLong(to + 16, w2);
      MEMORY.putLong(to + 24, w3);
      MEMORY.putLong(to + 32, w4);
      MEMORY.putLong(to + 40, w5);
      MEMORY.putLong(to + 48, w6);
      MEMORY.putLong(to + 56, w7);
    }
    for (; i < count; i++) {
      long value = 0;
      for (int b = 7; b >= 0; b--) {
        value = value << 8 | MEMORY.getByte(in + (long) b * count + i) & 0xff;
      }
      MEMORY.putLong(out + 8L * i, value);
    }
  }

  /**
   * Puts the bits of each element together again. As in c-blosc, if the count of elements is not a
   * multiple of 8, they are stored unchanged.
   *
   * @param planes address of scratch memory of {@code bytes} bytes
   */
  static void bits(long in, long out, long planes, int bytes, int width) {
    int count = bytes / width;
    if (count % 8 != 0) {
      MEMORY.copyMemory(in, out, bytes);
      return;
    }
    // The input is an array (width, 8, count / 8) of bytes: byte (b, k, i) has bit k of byte b of
    // the elements 8 i to 8 i + 7.
    int row = count / 8;
    for (int b = 0; b < width; b++) {
      plane(in + (long) b * count, row, planes + (long) b * count);
    }
    int whole = count * width;
    MEMORY.copyMemory(in + whole, planes + whole, bytes - whole);
    bytes(planes, out, bytes, width);
  }

  /** Makes one plane of bytes from its eight rows of bits, of {@code row} bytes each. */
  private static void plane(long in, int row, long out) {
    octets(in, out, row); // byte k of each word now has bit k of eight elements
    for (int i = 0; i < row; i++) {
      MEMORY.putLong(out + 8L * i, turned(MEMORY.getLong(out + 8L * i)));
    }
  }

  /** The transpose of 8 x 8 bits: bit i of byte k becomes bit k of byte i. */
  private static long turned(long word) {
    long x = word;
    long t = (x ^ x >>> 7) & 0x00aa00aa00aa00aaL;
    x ^= t ^ t << 7;
    t = (x ^ x >>> 14) & 0x0000cccc0000ccccL;
    x ^= t ^ t << 14;
    t = (x ^ x >>> 28) & 0x00000000f0f0f0f0L;
    return x ^ t ^ t << 28;
  }
}
