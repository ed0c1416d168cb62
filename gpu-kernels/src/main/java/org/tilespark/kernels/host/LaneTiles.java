package org.tilespark.kernels.host;

import org.tilespark.kernels.memory.HostMemory;
import sun.misc.Unsafe;

/**
 * Transposes between lines that are contiguous and rows that have a number of each: tile by tile,
 * so that every cache line is touched once while it is near. A tile takes pairs of numbers; their
 * firsts go to one place and their seconds to another, which are neighbouring rows or the real and
 * the imaginary parts of one.
 */
final class LaneTiles {
  private static final Unsafe UNSAFE = HostMemory.unsafe();
  private static final long FLOATS = Unsafe.ARRAY_FLOAT_BASE_OFFSET;

  /** Pairs of a tile: those of floats are a cache line of two lines. */
  private static final int PAIRS = 8;

  private static final long LOW = 0xFFFF_FFFFL;

  private LaneTiles() {}

  /**
   * Lines one after another.
   *
   * @param array of floats or doubles
   * @param pitch numbers from a line to the next
   * @param lanes lines
   */
  record Stage<A>(A array, int pitch, int lanes) {}

  /**
   * Rows.
   *
   * @param array of floats or doubles
   * @param at where the first begins
   * @param step numbers from a row to the next that is meant
   */
  record Target<A>(A array, int at, int step) {
    private Target<float[]> floats(int row) {
      return new Target<>((float[]) array, at + row * step, step);
    }

    private Target<double[]> doubles(int row) {
      return new Target<>((double[]) array, at + row * step, step);
    }
  }

  /** From pairs of numbers of the lines, {@code first} and the next on, to rows. */
  static <A> void gather(
      Stage<A> lines, int first, int pairs, Target<A> firsts, Target<A> seconds) {
    for (int pair = 0; pair < pairs; pair += PAIRS) {
      int count = Math.min(PAIRS, pairs - pair);
      if (lines.array instanceof float[] floats) {
        gatherFloats(
            new Stage<>(floats, lines.pitch, lines.lanes),
            first + 2 * pair,
            count,
            firsts.floats(pair),
            seconds.floats(pair));
      } else {
        gatherDoubles(
            new Stage<>((double[]) lines.array, lines.pitch, lines.lanes),
            first + 2 * pair,
            count,
            firsts.doubles(pair),
            seconds.doubles(pair));
      }
    }
  }

  private static void gatherFloats(
      Stage<float[]> lines, int first, int pairs, Target<float[]> firsts, Target<float[]> seconds) {
    float[] from = lines.array;
    float[] a = firsts.array;
    float[] b = seconds.array;
    long pitch = 4L * lines.pitch;
    long stepA = 4L * firsts.step;
    long stepB = 4L * seconds.step;
    for (int lane = 0; lane + 1 < lines.lanes; lane += 2) {
      long at = FLOATS + lane * pitch + 4L * first;
      long atA = FLOATS + 4L * (firsts.at + lane);
      long atB = FLOATS + 4L * (seconds.at + lane);
      if (pairs == PAIRS) {
        for (int i = 0; i < PAIRS; i++) { // unrolled
          long v = UNSAFE.getLong(from, at + 8 * i);
          long w = UNSAFE.getLong(from, at + pitch + 8 * i);
          UNSAFE.putLong(a, atA + i * stepA, (v & LOW) | w << 32);
          UNSAFE.putLong(b, atB + i * stepB, v >>> 32 | (w & ~LOW));
        }
      } else {
        for (int i = 0; i < pairs; i++) {
          long v = UNSAFE.getLong(from, at + 8L * i);
          long w = UNSAFE.getLong(from, at + pitch + 8L * i);
          UNSAFE.putLong(a, atA + i * stepA, (v & LOW) | w << 32);
          UNSAFE.putLong(b, atB + i * stepB, v >>> 32 | (w & ~LOW));
        }
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

  private static void gatherDoubles(
      Stage<double[]> lines,
      int first,
      int pairs,
      Target<double[]> firsts,
      Target<double[]> seconds) {
    double[] from = lines.array;
    double[] a = firsts.array;
    double[] b = seconds.array;
    int stepA = firsts.step;
    int stepB = seconds.step;
    for (int lane = 0; lane < lines.lanes; lane++) {
      int at = lane * lines.pitch + first;
      int atA = firsts.at + lane;
      int atB = seconds.at + lane;
      for (int i = 0; i < pairs; i++) {
        a[atA + i * stepA] = from[at + 2 * i];
        b[atB + i * stepB] = from[at + 2 * i + 1];
      }
    }
  }

  /** From rows to pairs of numbers of the lines, {@code first} and the next on. */
  static <A> void scatter(
      Target<A> firsts, Target<A> seconds, Stage<A> lines, int first, int pairs) {
    for (int pair = 0; pair < pairs; pair += PAIRS) {
      int count = Math.min(PAIRS, pairs - pair);
      if (lines.array instanceof float[] floats) {
        scatterFloats(
            firsts.floats(pair),
            seconds.floats(pair),
            new Stage<>(floats, lines.pitch, lines.lanes),
            first + 2 * pair,
            count);
      } else {
        scatterDoubles(
            firsts.doubles(pair),
            seconds.doubles(pair),
            new Stage<>((double[]) lines.array, lines.pitch, lines.lanes),
            first + 2 * pair,
            count);
      }
    }
  }

  private static void scatterFloats(
      Target<float[]> firsts, Target<float[]> seconds, Stage<float[]> lines, int first, int pairs) {
    float[] to = lines.array;
    float[] a = firsts.array;
    float[] b = seconds.array;
    long pitch = 4L * lines.pitch;
    long stepA = 4L * firsts.step;
    long stepB = 4L * seconds.step;
    for (int lane = 0; lane + 1 < lines.lanes; lane += 2) {
      long at = FLOATS + lane * pitch + 4L * first;
      long atA = FLOATS + 4L * (firsts.at + lane);
      long atB = FLOATS + 4L * (seconds.at + lane);
      if (pairs == PAIRS) {
        for (int i = 0; i < PAIRS; i++) { // unrolled
          long v = UNSAFE.getLong(a, atA + i * stepA);
          long w = UNSAFE.getLong(b, atB + i * stepB);
          UNSAFE.putLong(to, at + 8 * i, (v & LOW) | w << 32);
          UNSAFE.putLong(to, at + pitch + 8 * i, v >>> 32 | (w & ~LOW));
        }
      } else {
        for (int i = 0; i < pairs; i++) {
          long v = UNSAFE.getLong(a, atA + i * stepA);
          long w = UNSAFE.getLong(b, atB + i * stepB);
          UNSAFE.putLong(to, at + 8L * i, (v & LOW) | w << 32);
          UNSAFE.putLong(to, at + pitch + 8L * i, v >>> 32 | (w & ~LOW));
        }
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

  private static void scatterDoubles(
      Target<double[]> firsts,
      Target<double[]> seconds,
      Stage<double[]> lines,
      int first,
      int pairs) {
    double[] to = lines.array;
    double[] a = firsts.array;
    double[] b = seconds.array;
    int stepA = firsts.step;
    int stepB = seconds.step;
    for (int lane = 0; lane < lines.lanes; lane++) {
      int at = lane * lines.pitch + first;
      int atA = firsts.at + lane;
      int atB = seconds.at + lane;
      for (int i = 0; i < pairs; i++) {
        to[at + 2 * i] = a[atA + i * stepA];
        to[at + 2 * i + 1] = b[atB + i * stepB];
      }
    }
  }
}
