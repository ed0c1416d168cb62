package org.tilespark.kernels.host;

import org.tilespark.kernels.launch.Ceil;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.multiply.Precision;
import sun.misc.Unsafe;

/**
 * Copies parts of operands into panels, as {@link PackedPanels} has them: each value is read once.
 *
 * <p>Index letters: {@code x} counts along a panel's width (rows of A, columns of B), {@code p}
 * steps of K.
 */
final class Packing {
  private static final Unsafe UNSAFE = HostMemory.unsafe();

  /**
   * Steps of a panel that are written one after the other: as many as stay in the first-level
   * cache.
   */
  private static final int STEPS = 64;

  /** Bytes of a row that are read at a time: a page, so that the CPU reads ahead. */
  private static final int PIECE_BYTES = 4096;

  /**
   * Rows of an operand of which a piece is read before the pieces are distributed to one panel
   * after the other.
   */
  private static final int ROWS = 16;

  /** Bytes of the pieces that are distributed together. */
  static final int PIECES_BYTES = ROWS * PIECE_BYTES;

  private Packing() {}

  /**
   * An operand in memory.
   *
   * @param lead elements between neighbouring rows as stored
   * @param isAlongK true if a stored row holds all steps of one {@code x}; false if it holds all
   *     {@code x} of one step
   * @param bytes bytes of an element, 4 or 8
   */
  record Operand(HostMemory memory, long lead, boolean isAlongK, int bytes) {
    long address(long x, long p) {
      return memory.offset() + (isAlongK ? x * lead + p : p * lead + x) * bytes;
    }
  }

  /**
   * A part of an operand: {@code count} rows or columns from {@code x} on, of {@code steps} steps
   * from {@code p} on.
   */
  record Part(Operand operand, long x, int count, long p, int steps) {}

  /**
   * An array of consecutive panels.
   *
   * @param from index in {@code array} of the first panel's first element
   * @param width width of a panel; the last one is filled up with zeros
   * @param pieces an array of the same type with {@link #PIECES_BYTES} bytes, as scratch
   */
  record Panels(Object array, int from, int width, Object pieces) {
    /** The number of elements of the panels that hold {@code count} rows or columns. */
    int elements(int count, int steps) {
      return Math.toIntExact(Ceil.to(count, width) * steps);
    }

    private long address(int element, int bytes) {
      return baseOffset(bytes) + (long) (from + element) * bytes;
    }
  }

  /**
   * Unsafe's offset of the first element of an array of float or double, given the bytes of an
   * element.
   */
  static long baseOffset(int bytes) {
    return bytes == Float.BYTES ? Unsafe.ARRAY_FLOAT_BASE_OFFSET : Unsafe.ARRAY_DOUBLE_BASE_OFFSET;
  }

  /** Packs a part whose elements have the panels' type. */
  static void pack(Part part, Panels to) {
    if (part.operand().isAlongK()) {
      for (int x = 0; x < part.count(); x += to.width()) {
        for (int p = 0; p < part.steps(); p += STEPS) {
          interleave(part, x, p, to);
        }
      }
    } else {
      int piece = PIECE_BYTES / part.operand().bytes() / to.width() * to.width();
      for (int x = 0; x < part.count(); x += piece) {
        for (int p = 0; p < part.steps(); p += ROWS) {
          deal(part, x, Math.min(piece, part.count() - x), p, to);
        }
      }
    }
  }

  /**
   * Reads {@code count} rows or columns of up to {@link #ROWS} steps, and distributes them to
   * panels.
   */
  private static void deal(Part part, int x, int count, int p, Panels to) {
    int bytes = part.operand().bytes();
    int steps = Math.min(ROWS, part.steps() - p);
    for (int step = 0; step < steps; step++) {
      UNSAFE.copyMemory(
          part.operand().memory().base(),
          part.operand().address(part.x() + x, part.p() + p + step),
          to.pieces(),
          baseOffset(bytes) + (long) step * count * bytes,
          (long) count * bytes);
    }
    for (int first = 0; first < count; first += to.width()) {
      int at = to.from() + (x + first) * part.steps() + p * to.width();
      if (to.array() instanceof double[] panels) {
        DoublePanels.deal((double[]) to.pieces(), first, count, panels, at, to.width(), steps);
      } else {
        FloatPanels.deal(
            (float[]) to.pieces(), first, count, (float[]) to.array(), at, to.width(), steps);
      }
    }
  }

  /** Interleaves up to {@link #STEPS} steps of the rows of one panel. */
  private static void interleave(Part part, int x, int p, Panels to) {
    int bytes = part.operand().bytes();
    int steps = Math.min(STEPS, part.steps() - p);
    int present = Math.min(to.width(), part.count() - x);
    Object base = part.operand().memory().base();
    long row = part.operand().address(part.x() + x, part.p() + p);
    long lead = part.operand().lead() * bytes;
    long target = to.address(x * part.steps() + p * to.width(), bytes);
    int pitch = to.width() * bytes;
    int at = 0;
    if (bytes == Float.BYTES) {
      for (; at + 1 < present; at += 2) {
        pairs(base, row + at * lead, lead, steps, to.array(), target + (long) at * bytes, pitch);
      }
    }
    for (; at < to.width(); at++) {
      long source = row + at * lead;
      for (int step = 0; step < steps; step++) {
        long where = target + (long) step * pitch + (long) at * bytes;
        if (bytes == Double.BYTES) {
          UNSAFE.putLong(
              to.array(), where, at < present ? UNSAFE.getLong(base, source + step * 8L) : 0);
        } else {
          UNSAFE.putInt(
              to.array(), where, at < present ? UNSAFE.getInt(base, source + step * 4L) : 0);
        }
      }
    }
  }

  /** Interleaves two rows of floats, two steps at a time: four values in two words. */
  private static void pairs(
      Object base, long row, long lead, int steps, Object to, long target, int pitch) {
    int step = 0;
    for (; step + 1 < steps; step += 2) {
      long upper = UNSAFE.getLong(base, row + step * 4L);
      long lower = UNSAFE.getLong(base, row + lead + step * 4L);
      long where = target + (long) step * pitch;
      UNSAFE.putLong(to, where, upper & 0xffffffffL | lower << 32);
      UNSAFE.putLong(to, where + pitch, upper >>> 32 | lower & 0xffffffff00000000L);
    }
    if (step < steps) {
      long where = target + (long) step * pitch;
      UNSAFE.putInt(to, where, UNSAFE.getInt(base, row + step * 4L));
      UNSAFE.putInt(to, where + 4, UNSAFE.getInt(base, row + lead + step * 4L));
    }
  }

  /** Packs FLOAT values into panels of double. */
  static void widen(Part part, Panels to, Precision precision) {
    double[] target = (double[]) to.array();
    Operand operand = part.operand();
    Object base = operand.memory().base();
    for (int x = 0; x < part.count(); x += to.width()) {
      for (int p = 0; p < part.steps(); p++) {
        int at = to.from() + x * part.steps() + p * to.width();
        for (int e = 0; e < to.width(); e++) {
          target[at + e] =
              x + e < part.count()
                  ? precision.round(
                      UNSAFE.getFloat(base, operand.address(part.x() + x + e, part.p() + p)))
                  : 0;
        }
      }
    }
  }

  /** Rounds packed floats to the values that a lower precision has. */
  static void round(float[] panels, int from, int elements, Precision precision) {
    for (int e = from; e < from + elements; e++) {
      panels[e] = precision.round(panels[e]);
    }
  }
}
