package org.tilespark.kernels.host;

import org.tilespark.kernels.memory.HostMemory;
import sun.misc.Unsafe;

/** Copies of numbers that lie apart, as bits. */
final class LineMoves {
  private static final Unsafe UNSAFE = HostMemory.unsafe();

  /** The longest piece that is copied word by word: a call takes longer than these. */
  private static final int SHORT_BYTES = 128;

  private LineMoves() {}

  /**
   * Places at equal distances.
   *
   * @param base an array, or null
   * @param at offset of the first, or its address, in {@link HostMemory}'s terms
   * @param step bytes to the next
   */
  record Run(Object base, long at, long step) {
    Run plus(long bytes) {
      return new Run(base, at + bytes, step);
    }

    /** From each second place to the next but one. */
    Run everySecond() {
      return new Run(base, at, 2 * step);
    }
  }

  /** Copies {@code count} pieces of {@code bytes} bytes, a multiple of four. */
  static void copy(Run from, Run to, int count, int bytes) {
    if (bytes == Integer.BYTES) {
      copyInts(from, to, count);
    } else if (bytes == Long.BYTES) {
      copyLongs(from, to, count);
    } else {
      copyPieces(from, to, count, bytes);
    }
  }

  private static void copyInts(Run from, Run to, int count) {
    Object base = from.base;
    Object target = to.base;
    for (int i = 0; i < count; i++) {
      UNSAFE.putInt(target, to.at + i * to.step, UNSAFE.getInt(base, from.at + i * from.step));
    }
  }

  private static void copyLongs(Run from, Run to, int count) {
    Object base = from.base;
    Object target = to.base;
    for (int i = 0; i < count; i++) {
      UNSAFE.putLong(target, to.at + i * to.step, UNSAFE.getLong(base, from.at + i * from.step));
    }
  }

  private static void copyPieces(Run from, Run to, int count, int bytes) {
    Object base = from.base;
    Object target = to.base;
    for (int i = 0; i < count; i++) {
      long a = from.at + i * from.step;
      long o = to.at + i * to.step;
      if (bytes == 64) { // a cache line, and the usual
        UNSAFE.putLong(target, o, UNSAFE.getLong(base, a));
        UNSAFE.putLong(target, o + 8, UNSAFE.getLong(base, a + 8));
        UNSAFE.putLong(target, o + 16, UNSAFE.getLong(base, a + 16));
        UNSAFE.putLong(target, o + 24, UNSAFE.getLong(base, a + 24));
        UNSAFE.putLong(target, o + 32, UNSAFE.getLong(base, a + 32));
        UNSAFE.putLong(target, o + 40, UNSAFE.getLong(base, a + 40));
        UNSAFE.putLong(target, o + 48, UNSAFE.getLong(base, a + 48));
        UNSAFE.putLong(target, o + 56, UNSAFE.getLong(base, a + 56));
      } else if (bytes <= SHORT_BYTES) {
        int b = 0;
        for (; b + Long.BYTES <= bytes; b += Long.BYTES) {
          UNSAFE.putLong(target, o + b, UNSAFE.getLong(base, a + b));
        }
        if (b < bytes) {
          UNSAFE.putInt(target, o + b, UNSAFE.getInt(base, a + b));
        }
      } else {
        UNSAFE.copyMemory(base, a, target, o, bytes);
      }
    }
  }

  /**
   * Transposes {@code count} pieces of two by two words of 32 bits: from two runs of neighbouring
   * words, the first words of both go to one place and the second ones to another.
   */
  static void transposeInts(Run a, Run b, Run first, Run second, int count) {
    Object baseA = a.base;
    Object baseB = b.base;
    Object baseFirst = first.base;
    Object baseSecond = second.base;
    for (int i = 0; i < count; i++) {
      long v = UNSAFE.getLong(baseA, a.at + i * a.step);
      long w = UNSAFE.getLong(baseB, b.at + i * b.step);
      UNSAFE.putLong(baseFirst, first.at + i * first.step, (v & 0xFFFFFFFFL) | w << 32);
      UNSAFE.putLong(baseSecond, second.at + i * second.step, v >>> 32 | (w & 0xFFFFFFFF00000000L));
    }
  }
}
