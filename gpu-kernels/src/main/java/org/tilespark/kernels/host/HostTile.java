package org.tilespark.kernels.host;

import org.tilespark.kernels.memory.HostMemory;
import sun.misc.Unsafe;

/**
 * Transposes one tile into a staging array: element {@code (i, j)} of the input, {@code i * inPitch
 * + j * width} bytes in, goes to {@code j * outPitch + i * width} bytes into the stage.
 *
 * <p>The stage should stay in the first-level cache while eight rows pass, that is, one line for
 * each of at most 512 columns. Eight rows at a time are moved in 8-byte words: eight loads from
 * eight independent streams, which the hardware prefetches; then a small exchange network in
 * registers; then eight stores. Where the extents are no multiples of eight rows or of the columns
 * of a word, the last group overlaps the one before it and writes some elements twice.
 *
 * <p>Index letters: {@code i} counts input rows, {@code j} input columns.
 *
 * @param width element width in bytes: 1, 2, 4, 8 or 16
 * @param stage array for the transposed tile; an array of known type, since the compiler cannot
 *     reorder accesses to memory that may be on or off the heap
 */
record HostTile(int width, long[] stage) {
  private static final Unsafe UNSAFE = HostMemory.unsafe();
  private static final int ROWS = 8;
  private static final long LOW_INT = 0x00000000_ffffffffL;
  private static final long LOW_SHORTS = 0x0000ffff_0000ffffL;
  private static final long LOW_BYTES = 0x00ff00ff_00ff00ffL;

  /**
   * Transposes one tile.
   *
   * @param inBase base of the tile's first element in the input, in Unsafe's terms
   * @param in offset of that element from {@code inBase}
   * @param inPitch bytes between rows of the input
   * @param out offset of the transposed tile's first element in the stage, in Unsafe's terms
   * @param outPitch bytes between rows of the transposed tile
   */
  void transpose(
      Object inBase, long in, long inPitch, long out, long outPitch, int rows, int cols) {
    int colsOfWord = Math.max(1, Long.BYTES / width);
    if (rows < ROWS || cols < colsOfWord) {
      elementwise(inBase, in, inPitch, out, outPitch, rows, cols);
      return;
    }
    for (int i = 0; i < rows; i += ROWS) {
      int first = Math.min(i, rows - ROWS);
      long from = in + first * inPitch;
      long to = out + (long) first * width;
      switch (width) {
        case 1 -> eightRows1(inBase, from, inPitch, stage, to, outPitch, cols);
        case 2 -> eightRows2(inBase, from, inPitch, stage, to, outPitch, cols);
        case 4 -> eightRows4(inBase, from, inPitch, stage, to, outPitch, cols);
        case 8 -> eightRows8(inBase, from, inPitch, stage, to, outPitch, cols);
        default -> eightRows16(inBase, from, inPitch, stage, to, outPitch, cols);
      }
    }
  }

  /** Moves 8 x 8 bytes at a time: three rounds of exchanges, of 4-, 2- and 1-byte halves. */
  private static void eightRows1(
      Object inBase, long in, long inPitch, long[] stage, long out, long outPitch, int cols) {
    long from = in;
    long to = out;
    for (int left = cols; left >= 8; left -= 8) {
      long row4 = from + 4 * inPitch;
      long a = UNSAFE.getLong(inBase, from);
      long b = UNSAFE.getLong(inBase, from + inPitch);
      long c = UNSAFE.getLong(inBase, from + 2 * inPitch);
      long d = UNSAFE.getLong(inBase, from + 3 * inPitch);
      long e = UNSAFE.getLong(inBase, row4);
      long f = UNSAFE.getLong(inBase, row4 + inPitch);
      long g = UNSAFE.getLong(inBase, row4 + 2 * inPitch);
      long h = UNSAFE.getLong(inBase, row4 + 3 * inPitch);
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
      // The same exchange for pairs of columns, then for single columns.
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
      from += 8;
      UNSAFE.putLong(stage, to, a);
      UNSAFE.putLong(stage, to + outPitch, b);
      UNSAFE.putLong(stage, to + 2 * outPitch, c);
      UNSAFE.putLong(stage, to + 3 * outPitch, d);
      to += 4 * outPitch;
      UNSAFE.putLong(stage, to, e);
      UNSAFE.putLong(stage, to + outPitch, f);
      UNSAFE.putLong(stage, to + 2 * outPitch, g);
      UNSAFE.putLong(stage, to + 3 * outPitch, h);
      to += 4 * outPitch;
    }
    if (cols % 8 != 0) {
      long skipped = cols - 8L;
      eightRows1(inBase, in + skipped * 1, inPitch, stage, out + skipped * outPitch, outPitch, 8);
    }
  }

  /** Moves 8 x 4 elements of 2 bytes at a time: two squares of 4 x 4, in two rounds each. */
  private static void eightRows2(
      Object inBase, long in, long inPitch, long[] stage, long out, long outPitch, int cols) {
    long from = in;
    long to = out;
    for (int left = cols; left >= 4; left -= 4) {
      long row4 = from + 4 * inPitch;
      long a = UNSAFE.getLong(inBase, from);
      long b = UNSAFE.getLong(inBase, from + inPitch);
      long c = UNSAFE.getLong(inBase, from + 2 * inPitch);
      long d = UNSAFE.getLong(inBase, from + 3 * inPitch);
      long e = UNSAFE.getLong(inBase, row4);
      long f = UNSAFE.getLong(inBase, row4 + inPitch);
      long g = UNSAFE.getLong(inBase, row4 + 2 * inPitch);
      long h = UNSAFE.getLong(inBase, row4 + 3 * inPitch);
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
      from += 8;
      UNSAFE.putLong(stage, to, a);
      UNSAFE.putLong(stage, to + 8, e);
      UNSAFE.putLong(stage, to + outPitch, b);
      UNSAFE.putLong(stage, to + outPitch + 8, f);
      to += 2 * outPitch;
      UNSAFE.putLong(stage, to, c);
      UNSAFE.putLong(stage, to + 8, g);
      UNSAFE.putLong(stage, to + outPitch, d);
      UNSAFE.putLong(stage, to + outPitch + 8, h);
      to += 2 * outPitch;
    }
    if (cols % 4 != 0) {
      long skipped = cols - 4L;
      eightRows2(inBase, in + skipped * 2, inPitch, stage, out + skipped * outPitch, outPitch, 4);
    }
  }

  /** Moves 8 x 2 elements of 4 bytes at a time: four squares of 2 x 2. */
  private static void eightRows4(
      Object inBase, long in, long inPitch, long[] stage, long out, long outPitch, int cols) {
    long from = in;
    long to = out;
    for (int left = cols; left >= 2; left -= 2) {
      long row4 = from + 4 * inPitch;
      long a = UNSAFE.getLong(inBase, from);
      long b = UNSAFE.getLong(inBase, from + inPitch);
      long c = UNSAFE.getLong(inBase, from + 2 * inPitch);
      long d = UNSAFE.getLong(inBase, from + 3 * inPitch);
      long e = UNSAFE.getLong(inBase, row4);
      long f = UNSAFE.getLong(inBase, row4 + inPitch);
      long g = UNSAFE.getLong(inBase, row4 + 2 * inPitch);
      long h = UNSAFE.getLong(inBase, row4 + 3 * inPitch);
      from += 8;
      UNSAFE.putLong(stage, to, (a & LOW_INT) | (b << 32));
      UNSAFE.putLong(stage, to + 8, (c & LOW_INT) | (d << 32));
      UNSAFE.putLong(stage, to + 16, (e & LOW_INT) | (f << 32));
      UNSAFE.putLong(stage, to + 24, (g & LOW_INT) | (h << 32));
      to += outPitch;
      UNSAFE.putLong(stage, to, (a >>> 32) | (b & ~LOW_INT));
      UNSAFE.putLong(stage, to + 8, (c >>> 32) | (d & ~LOW_INT));
      UNSAFE.putLong(stage, to + 16, (e >>> 32) | (f & ~LOW_INT));
      UNSAFE.putLong(stage, to + 24, (g >>> 32) | (h & ~LOW_INT));
      to += outPitch;
    }
    if (cols % 2 != 0) {
      long skipped = cols - 2L;
      eightRows4(inBase, in + skipped * 4, inPitch, stage, out + skipped * outPitch, outPitch, 2);
    }
  }

  /** Moves 8 x 1 elements of 8 bytes at a time: one line of the stage. */
  private static void eightRows8(
      Object inBase, long in, long inPitch, long[] stage, long out, long outPitch, int cols) {
    long from = in;
    long to = out;
    for (int j = 0; j < cols; j++) {
      long row4 = from + 4 * inPitch;
      long a = UNSAFE.getLong(inBase, from);
      long b = UNSAFE.getLong(inBase, from + inPitch);
      long c = UNSAFE.getLong(inBase, from + 2 * inPitch);
      long d = UNSAFE.getLong(inBase, from + 3 * inPitch);
      long e = UNSAFE.getLong(inBase, row4);
      long f = UNSAFE.getLong(inBase, row4 + inPitch);
      long g = UNSAFE.getLong(inBase, row4 + 2 * inPitch);
      long h = UNSAFE.getLong(inBase, row4 + 3 * inPitch);
      from += 8;
      UNSAFE.putLong(stage, to, a);
      UNSAFE.putLong(stage, to + 8, b);
      UNSAFE.putLong(stage, to + 16, c);
      UNSAFE.putLong(stage, to + 24, d);
      UNSAFE.putLong(stage, to + 32, e);
      UNSAFE.putLong(stage, to + 40, f);
      UNSAFE.putLong(stage, to + 48, g);
      UNSAFE.putLong(stage, to + 56, h);
      to += outPitch;
    }
  }

  /** Moves 8 x 1 elements of 16 bytes at a time, each two words: two lines of the stage. */
  private static void eightRows16(
      Object inBase, long in, long inPitch, long[] stage, long out, long outPitch, int cols) {
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
        UNSAFE.putLong(stage, to, a);
        UNSAFE.putLong(stage, to + 8, b);
        UNSAFE.putLong(stage, to + 16, c);
        UNSAFE.putLong(stage, to + 24, d);
        UNSAFE.putLong(stage, to + 32, e);
        UNSAFE.putLong(stage, to + 40, f);
        UNSAFE.putLong(stage, to + 48, g);
        UNSAFE.putLong(stage, to + 56, h);
        to += 64;
      }
    }
  }

  /** Moves one element at a time, for tiles of fewer rows or columns than a group has. */
  private void elementwise(
      Object inBase, long in, long inPitch, long out, long outPitch, int rows, int cols) {
    for (int i = 0; i < rows; i++) {
      long from = in + i * inPitch;
      long to = out + (long) i * width;
      switch (width) {
        case 1 -> {
          for (int j = 0; j < cols; j++, to += outPitch) {
            UNSAFE.putByte(stage, to, UNSAFE.getByte(inBase, from + j));
          }
        }
        case 2 -> {
          for (int j = 0; j < cols; j++, to += outPitch) {
            UNSAFE.putShort(stage, to, UNSAFE.getShort(inBase, from + 2L * j));
          }
        }
        case 4 -> {
          for (int j = 0; j < cols; j++, to += outPitch) {
            UNSAFE.putInt(stage, to, UNSAFE.getInt(inBase, from + 4L * j));
          }
        }
        case 8 -> {
          for (int j = 0; j < cols; j++, to += outPitch) {
            UNSAFE.putLong(stage, to, UNSAFE.getLong(inBase, from + 8L * j));
          }
        }
        default -> {
          for (int j = 0; j < cols; j++, to += outPitch) {
            UNSAFE.putLong(stage, to, UNSAFE.getLong(inBase, from + 16L * j));
            UNSAFE.putLong(stage, to + 8, UNSAFE.getLong(inBase, from + 16L * j + 8));
          }
        }
      }
    }
  }
}
