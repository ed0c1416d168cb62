package org.tilespark.kernels;

import sun.misc.Unsafe;

/**
 * Transposes one tile between two pieces of memory: element {@code (i, j)} of the input, {@code i *
 * inPitch + j * width} bytes in, goes to {@code j * outPitch + i * width} bytes into the output.
 *
 * <p>The output should stay in the first-level cache while eight rows pass, that is, one line for
 * each of at most 512 columns. Elements travel in 8-byte words, eight rows at a time: eight loads
 * from eight independent streams, which the hardware prefetches, then a small exchange network in
 * registers, then eight stores. Where the extents are no multiples of eight rows or of the columns
 * of a word, the last group overlaps the one before it and writes some elements twice.
 *
 * <p>Index letters: {@code i} counts input rows, {@code j} input columns.
 */
final class HostTile {
  private static final Unsafe UNSAFE = HostMemory.unsafe();
  private static final int ROWS = 8;
  private static final long LOW_INT = 0x00000000_ffffffffL;
  private static final long LOW_SHORTS = 0x0000ffff_0000ffffL;
  private static final long LOW_BYTES = 0x00ff00ff_00ff00ffL;

  private HostTile() {}

  /**
   * One tile.
   *
   * @param width element width in bytes: 1, 2, 4, 8 or 16
   * @param inBase with {@code in}, the tile's first element, in Unsafe's terms
   * @param inPitch bytes between rows of the input
   * @param outBase with {@code out}, the first element of the transposed tile
   * @param outPitch bytes between rows of the output
   */
  static void transpose(
      int width,
      Object inBase,
      long in,
      long inPitch,
      Object outBase,
      long out,
      long outPitch,
      int rows,
      int cols) {
    int colsOfWord = Math.max(1, Long.BYTES / width);
    if (rows < ROWS || cols < colsOfWord) {
      elementwise(width, inBase, in, inPitch, outBase, out, outPitch, rows, cols);
      return;
    }
    for (int i = 0; i < rows; i += ROWS) {
      int first = Math.min(i, rows - ROWS);
      long from = in + first * inPitch;
      long to = out + (long) first * width;
      switch (width) {
        case 1 -> eightRows1(inBase, from, inPitch, outBase, to, outPitch, cols);
        case 2 -> eightRows2(inBase, from, inPitch, outBase, to, outPitch, cols);
        case 4 -> eightRows4(inBase, from, inPitch, outBase, to, outPitch, cols);
        case 8 -> eightRows8(inBase, from, inPitch, outBase, to, outPitch, cols);
        default -> eightRows16(inBase, from, inPitch, outBase, to, outPitch, cols);
      }
    }
  }

  /** 8 x 8 bytes at a time: three rounds of exchanges, of 4-, 2- and 1-byte halves. */
  private static void eightRows1(
      Object inBase, long in, long inPitch, Object outBase, long out, long outPitch, int cols) {
    for (int group = 0; group < cols; group += 8) {
      int j = Math.min(group, cols - 8);
      long from = in + j;
      long a = UNSAFE.getLong(inBase, from);
      long b = UNSAFE.getLong(inBase, from + inPitch);
      long c = UNSAFE.getLong(inBase, from + 2 * inPitch);
      long d = UNSAFE.getLong(inBase, from + 3 * inPitch);
      from += 4 * inPitch;
      long e = UNSAFE.getLong(inBase, from);
      long f = UNSAFE.getLong(inBase, from + inPitch);
      long g = UNSAFE.getLong(inBase, from + 2 * inPitch);
      long h = UNSAFE.getLong(inBase, from + 3 * inPitch);
      // Columns 0..3 of all rows in a..d, columns 4..7 in e..h.
      long swap = ((a >>> 32) ^ e) & LOW_INT;
      e ^= swap;
      a ^= swap << 32;
      swap = ((b >>> 32) ^ f) & LOW_INT;
      f ^= swap;
      b ^= swap << 32;
      swap = ((c >>> 32) ^ g) & LOW_INT;
      g ^= swap;
      c ^= swap << 32;
      swap = ((d >>> 32) ^ h) & LOW_INT;
      h ^= swap;
      d ^= swap << 32;
      // The same for pairs of columns, then for single ones.
      swap = ((a >>> 16) ^ c) & LOW_SHORTS;
      c ^= swap;
      a ^= swap << 16;
      swap = ((b >>> 16) ^ d) & LOW_SHORTS;
      d ^= swap;
      b ^= swap << 16;
      swap = ((e >>> 16) ^ g) & LOW_SHORTS;
      g ^= swap;
      e ^= swap << 16;
      swap = ((f >>> 16) ^ h) & LOW_SHORTS;
      h ^= swap;
      f ^= swap << 16;
      swap = ((a >>> 8) ^ b) & LOW_BYTES;
      b ^= swap;
      a ^= swap << 8;
      swap = ((c >>> 8) ^ d) & LOW_BYTES;
      d ^= swap;
      c ^= swap << 8;
      swap = ((e >>> 8) ^ f) & LOW_BYTES;
      f ^= swap;
      e ^= swap << 8;
      swap = ((g >>> 8) ^ h) & LOW_BYTES;
      h ^= swap;
      g ^= swap << 8;
      long to = out + j * outPitch;
      UNSAFE.putLong(outBase, to, a);
      UNSAFE.putLong(outBase, to + outPitch, b);
      UNSAFE.putLong(outBase, to + 2 * outPitch, c);
      UNSAFE.putLong(outBase, to + 3 * outPitch, d);
      to += 4 * outPitch;
      UNSAFE.putLong(outBase, to, e);
      UNSAFE.putLong(outBase, to + outPitch, f);
      UNSAFE.putLong(outBase, to + 2 * outPitch, g);
      UNSAFE.putLong(outBase, to + 3 * outPitch, h);
    }
  }

  /** 8 x 4 elements of 2 bytes at a time: two squares of 4 x 4, two rounds each. */
  private static void eightRows2(
      Object inBase, long in, long inPitch, Object outBase, long out, long outPitch, int cols) {
    for (int group = 0; group < cols; group += 4) {
      int j = Math.min(group, cols - 4);
      long from = in + 2L * j;
      long a = UNSAFE.getLong(inBase, from);
      long b = UNSAFE.getLong(inBase, from + inPitch);
      long c = UNSAFE.getLong(inBase, from + 2 * inPitch);
      long d = UNSAFE.getLong(inBase, from + 3 * inPitch);
      from += 4 * inPitch;
      long e = UNSAFE.getLong(inBase, from);
      long f = UNSAFE.getLong(inBase, from + inPitch);
      long g = UNSAFE.getLong(inBase, from + 2 * inPitch);
      long h = UNSAFE.getLong(inBase, from + 3 * inPitch);
      long swap = ((a >>> 32) ^ c) & LOW_INT;
      c ^= swap;
      a ^= swap << 32;
      swap = ((b >>> 32) ^ d) & LOW_INT;
      d ^= swap;
      b ^= swap << 32;
      swap = ((e >>> 32) ^ g) & LOW_INT;
      g ^= swap;
      e ^= swap << 32;
      swap = ((f >>> 32) ^ h) & LOW_INT;
      h ^= swap;
      f ^= swap << 32;
      swap = ((a >>> 16) ^ b) & LOW_SHORTS;
      b ^= swap;
      a ^= swap << 16;
      swap = ((c >>> 16) ^ d) & LOW_SHORTS;
      d ^= swap;
      c ^= swap << 16;
      swap = ((e >>> 16) ^ f) & LOW_SHORTS;
      f ^= swap;
      e ^= swap << 16;
      swap = ((g >>> 16) ^ h) & LOW_SHORTS;
      h ^= swap;
      g ^= swap << 16;
      long to = out + j * outPitch;
      UNSAFE.putLong(outBase, to, a);
      UNSAFE.putLong(outBase, to + 8, e);
      UNSAFE.putLong(outBase, to + outPitch, b);
      UNSAFE.putLong(outBase, to + outPitch + 8, f);
      to += 2 * outPitch;
      UNSAFE.putLong(outBase, to, c);
      UNSAFE.putLong(outBase, to + 8, g);
      UNSAFE.putLong(outBase, to + outPitch, d);
      UNSAFE.putLong(outBase, to + outPitch + 8, h);
    }
  }

  /** 8 x 2 elements of 4 bytes at a time: four squares of 2 x 2. */
  private static void eightRows4(
      Object inBase, long in, long inPitch, Object outBase, long out, long outPitch, int cols) {
    for (int group = 0; group < cols; group += 2) {
      int j = Math.min(group, cols - 2);
      long from = in + 4L * j;
      long a = UNSAFE.getLong(inBase, from);
      long b = UNSAFE.getLong(inBase, from + inPitch);
      long c = UNSAFE.getLong(inBase, from + 2 * inPitch);
      long d = UNSAFE.getLong(inBase, from + 3 * inPitch);
      from += 4 * inPitch;
      long e = UNSAFE.getLong(inBase, from);
      long f = UNSAFE.getLong(inBase, from + inPitch);
      long g = UNSAFE.getLong(inBase, from + 2 * inPitch);
      long h = UNSAFE.getLong(inBase, from + 3 * inPitch);
      long to = out + j * outPitch;
      UNSAFE.putLong(outBase, to, (a & LOW_INT) | (b << 32));
      UNSAFE.putLong(outBase, to + 8, (c & LOW_INT) | (d << 32));
      UNSAFE.putLong(outBase, to + 16, (e & LOW_INT) | (f << 32));
      UNSAFE.putLong(outBase, to + 24, (g & LOW_INT) | (h << 32));
      to += outPitch;
      UNSAFE.putLong(outBase, to, (a >>> 32) | (b & ~LOW_INT));
      UNSAFE.putLong(outBase, to + 8, (c >>> 32) | (d & ~LOW_INT));
      UNSAFE.putLong(outBase, to + 16, (e >>> 32) | (f & ~LOW_INT));
      UNSAFE.putLong(outBase, to + 24, (g >>> 32) | (h & ~LOW_INT));
    }
  }

  /** 8 x 1 elements of 8 bytes at a time: one line of the output. */
  private static void eightRows8(
      Object inBase, long in, long inPitch, Object outBase, long out, long outPitch, int cols) {
    for (int j = 0; j < cols; j++) {
      long from = in + 8L * j;
      long a = UNSAFE.getLong(inBase, from);
      long b = UNSAFE.getLong(inBase, from + inPitch);
      long c = UNSAFE.getLong(inBase, from + 2 * inPitch);
      long d = UNSAFE.getLong(inBase, from + 3 * inPitch);
      from += 4 * inPitch;
      long e = UNSAFE.getLong(inBase, from);
      long f = UNSAFE.getLong(inBase, from + inPitch);
      long g = UNSAFE.getLong(inBase, from + 2 * inPitch);
      long h = UNSAFE.getLong(inBase, from + 3 * inPitch);
      long to = out + j * outPitch;
      UNSAFE.putLong(outBase, to, a);
      UNSAFE.putLong(outBase, to + 8, b);
      UNSAFE.putLong(outBase, to + 16, c);
      UNSAFE.putLong(outBase, to + 24, d);
      UNSAFE.putLong(outBase, to + 32, e);
      UNSAFE.putLong(outBase, to + 40, f);
      UNSAFE.putLong(outBase, to + 48, g);
      UNSAFE.putLong(outBase, to + 56, h);
    }
  }

  /** 8 x 1 elements of 16 bytes at a time, each two words: two lines of the output. */
  private static void eightRows16(
      Object inBase, long in, long inPitch, Object outBase, long out, long outPitch, int cols) {
    for (int j = 0; j < cols; j++) {
      long from = in + 16L * j;
      long to = out + j * outPitch;
      for (int half = 0; half < 2; half++) {
        long a = UNSAFE.getLong(inBase, from);
        long b = UNSAFE.getLong(inBase, from + 8);
        long c = UNSAFE.getLong(inBase, from + inPitch);
        long d = UNSAFE.getLong(inBase, from + inPitch + 8);
        from += 2 * inPitch;
        long e = UNSAFE.getLong(inBase, from);
        long f = UNSAFE.getLong(inBase, from + 8);
        long g = UNSAFE.getLong(inBase, from + inPitch);
        long h = UNSAFE.getLong(inBase, from + inPitch + 8);
        from += 2 * inPitch;
        UNSAFE.putLong(outBase, to, a);
        UNSAFE.putLong(outBase, to + 8, b);
        UNSAFE.putLong(outBase, to + 16, c);
        UNSAFE.putLong(outBase, to + 24, d);
        UNSAFE.putLong(outBase, to + 32, e);
        UNSAFE.putLong(outBase, to + 40, f);
        UNSAFE.putLong(outBase, to + 48, g);
        UNSAFE.putLong(outBase, to + 56, h);
        to += 64;
      }
    }
  }

  /** One element at a time, for tiles of fewer rows or columns than a group. */
  private static void elementwise(
      int width,
      Object inBase,
      long in,
      long inPitch,
      Object outBase,
      long out,
      long outPitch,
      int rows,
      int cols) {
    for (int i = 0; i < rows; i++) {
      long from = in + i * inPitch;
      long to = out + (long) i * width;
      switch (width) {
        case 1 -> {
          for (int j = 0; j < cols; j++, to += outPitch) {
            UNSAFE.putByte(outBase, to, UNSAFE.getByte(inBase, from + j));
          }
        }
        case 2 -> {
          for (int j = 0; j < cols; j++, to += outPitch) {
            UNSAFE.putShort(outBase, to, UNSAFE.getShort(inBase, from + 2L * j));
          }
        }
        case 4 -> {
          for (int j = 0; j < cols; j++, to += outPitch) {
            UNSAFE.putInt(outBase, to, UNSAFE.getInt(inBase, from + 4L * j));
          }
        }
        case 8 -> {
          for (int j = 0; j < cols; j++, to += outPitch) {
            UNSAFE.putLong(outBase, to, UNSAFE.getLong(inBase, from + 8L * j));
          }
        }
        default -> {
          for (int j = 0; j < cols; j++, to += outPitch) {
            UNSAFE.putLong(outBase, to, UNSAFE.getLong(inBase, from + 16L * j));
            UNSAFE.putLong(outBase, to + 8, UNSAFE.getLong(inBase, from + 16L * j + 8));
          }
        }
      }
    }
  }
}
