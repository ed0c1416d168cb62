package org.tilespark.kernels.host.fourier;

import org.tilespark.kernels.memory.HostMemory;
import sun.misc.Unsafe;

/**
 * Transposes between contiguous lines and rows that hold one number of each line. It works tile by
 * tile, so that each cache line is used completely while it is cached. A tile moves pairs of
 * numbers: the first number of each pair to one place and the second to another, which are two
 * neighbouring rows or the real and imaginary parts of one row.
 */
final class LaneTiles {
  private static final Unsafe UNSAFE = HostMemory.unsafe();
  private static final long FLOATS = Unsafe.ARRAY_FLOAT_BASE_OFFSET;
  private static final long DOUBLES = Unsafe.ARRAY_DOUBLE_BASE_OFFSET;

  /**
   * The number of pairs in a tile: as many pairs of rows stay in the cache until all lines are
   * read.
   */
  private static final int PAIRS = 128;

  private static final long LOW = 0xFFFF_FFFFL;

  private LaneTiles() {}

  /**
   * Contiguous lines, one after another in an array.
   *
   * @param array array of float or double
   * @param pitch numbers from the start of a line to the next
   * @param lanes how many lines
   */
  record Stage<A>(A array, int pitch, int lanes) {}

  /**
   * Rows in an array.
   *
   * @param array array of float or double
   * @param at index in {@code array} of the first row
   * @param step numbers from the start of one row that is used to the next
   */
  record Target<A>(A array, int at, int step) {
    private Target<A> from(int row) {
      return new Target<>(array, at + row * step, step);
    }
  }

  /**
   * Moves {@code pairs} pairs of numbers of each line, from number {@code first} on, to rows: the
   * pairs' first numbers to {@code firsts}, their second numbers to {@code seconds}.
   */
  static <A> void gather(
      Stage<A> lines, int first, int pairs, Target<A> firsts, Target<A> seconds) {
    for (int pair = 0; pair < pairs; pair += PAIRS) {
      int count = Math.min(PAIRS, pairs - pair);
      int line = first + 2 * pair;
      if (lines.array instanceof float[]) {
        gatherFloats(lines, line, count, firsts.from(pair), seconds.from(pair));
      } else {
        gatherDoubles(lines, line, count, firsts.from(pair), seconds.from(pair));
      }
    }
  }

  /**
   * Moves rows to {@code pairs} pairs of numbers of each line, from number {@code first} on: the
   * inverse of {@link #gather}.
   */
  static <A> void scatter(
      Target<A> firsts, Target<A> seconds, Stage<A> lines, int first, int pairs) {
    for (int pair = 0; pair < pairs; pair += PAIRS) {
      int count = Math.min(PAIRS, pairs - pair);
      int line = first + 2 * pair;
      if (lines.array instanceof float[]) {
        scatterFloats(firsts.from(pair), seconds.from(pair), lines, line, count);
      } else {
        scatterDoubles(firsts.from(pair), seconds.from(pair), lines, line, count);
      }
    }
  }

  // A word of 64 bits has two floats: of one line, or of two lines in a row.

  private static void gatherFloats(
      Stage<?> lines, int first, int pairs, Target<?> firsts, Target<?> seconds) {
    float[] from = (float[]) lines.array;
    float[] a = (float[]) firsts.array;
    float[] b = (float[]) seconds.array;
    long pitch = 4L * lines.pitch;
    long stepA = 4L * firsts.step;
    long stepB = 4L * seconds.step;
    for (int lane = 0; lane + 1 < lines.lanes; lane += 2) {
      long at = FLOATS + lane * pitch + 4L * first;
      long atA = FLOATS + 4L * (firsts.at + lane);
      long atB = FLOATS + 4L * (seconds.at + lane);
      for (int i = 0; i < pairs; i++) {
        long v = UNSAFE.getLong(from, at);
        long w = UNSAFE.getLong(from, at + pitch);
        UNSAFE.putLong(a, atA, (v & LOW) | w << 32);
        UNSAFE.putLong(b, atB, v >>> 32 | (w & ~LOW));
        at += 8;
        atA += stepA;
        atB += stepB;
      }
    }
    if (lines.lanes % 2 == 1) {
      int lane = lines.lanes - 1;
      for (int i = 0; i < pairs; i++) {
        a[firsts.at + i * firsts.step + lane] = from[lane * lines.pitch + first + 2 * i];
        b[seconds.at + i * seconds.step + lane] = from[lane * lines.pitch + first + 2 * i + 1];
      }
    }
  }

  private static void scatterFloats(
      Target<?> firsts, Target<?> seconds, Stage<?> lines, int first, int pairs) {
    float[] to = (float[]) lines.array;
    float[] a = (float[]) firsts.array;
    float[] b = (float[]) seconds.array;
    long pitch = 4L * lines.pitch;
    long stepA = 4L * firsts.step;
    long stepB = 4L * seconds.step;
    for (int lane = 0; lane + 1 < lines.lanes; lane += 2) {
      long at = FLOATS + lane * pitch + 4L * first;
      long atA = FLOATS + 4L * (firsts.at + lane);
      long atB = FLOATS + 4L * (seconds.at + lane);
      for (int i = 0; i < pairs; i++) {
        long v = UNSAFE.getLong(a, atA);
        long w = UNSAFE.getLong(b, atB);
        UNSAFE.putLong(to, at, (v & LOW) | w << 32);
        UNSAFE.putLong(to, at + pitch, v >>> 32 | (w & ~LOW));
        at += 8;
        atA += stepA;
        atB += stepB;
      }
    }
    if (lines.lanes % 2 == 1) {
      int lane = lines.lanes - 1;
      for (int i = 0; i < pairs; i++) {
        to[lane * lines.pitch + first + 2 * i] = a[firsts.at + i * firsts.step + lane];
        to[lane * lines.pitch + first + 2 * i + 1] = b[seconds.at + i * seconds.step + lane];
      }
    }
  }

  private static void gatherDoubles(
      Stage<?> lines, int first, int pairs, Target<?> firsts, Target<?> seconds) {
    double[] from = (double[]) lines.array;
    double[] a = (double[]) firsts.array;
    double[] b = (double[]) seconds.array;
    long pitch = 8L * lines.pitch;
    long stepA = 8L * firsts.step;
    long stepB = 8L * seconds.step;
    for (int lane = 0; lane < lines.lanes; lane++) {
      long at = DOUBLES + lane * pitch + 8L * first;
      long atA = DOUBLES + 8L * (firsts.at + lane);
      long atB = DOUBLES + 8L * (seconds.at + lane);
      for (int i = 0; i < pairs; i++) {
        UNSAFE.putLong(a, atA, UNSAFE.getLong(from, at));
        UNSAFE.putLong(b, atB, UNSAFE.getLong(from, at + 8));
        at += 16;
        atA += stepA;
        atB += stepB;
      }
    }
  }

  private static void scatterDoubles(
      Target<?> firsts, Target<?> seconds, Stage<?> lines, int first, int pairs) {
    double[] to = (double[]) lines.array;
    double[] a = (double[]) firsts.array;
    double[] b = (double[]) seconds.array;
    long pitch = 8L * lines.pitch;
    long stepA = 8L * firsts.step;
    long stepB = 8L * seconds.step;
    for (int lane = 0; lane < lines.lanes; lane++) {
      long at = DOUBLES + lane * pitch + 8L * first;
      long atA = DOUBLES + 8L * (firsts.at + lane);
      long atB = DOUBLES + 8L * (seconds.at + lane);
      for (int i = 0; i < pairs; i++) {
        UNSAFE.putLong(to, at, UNSAFE.getLong(a, atA));
        UNSAFE.putLong(to, at + 8, UNSAFE.getLong(b, atB));
        at += 16;
        atA += stepA;
        atB += stepB;
      }
    }
  }
}
