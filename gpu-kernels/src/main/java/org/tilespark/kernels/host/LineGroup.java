package org.tilespark.kernels.host;

import org.tilespark.kernels.host.LineMoves.Run;
import org.tilespark.kernels.memory.HostMemory;

/**
 * Neighbouring lines of one side of a transform, where they lie in memory. Moves between them and
 * rows, which have a number of each line, take whole cache lines: where lines lie side by side, a
 * row is a piece of memory; where each is contiguous, pieces are transposed.
 *
 * @param re real parts of the whole array
 * @param im imaginary parts, or those again
 * @param length numbers of a line
 * @param inner lines side by side, and so the distance of a line's numbers
 * @param first of the lines, in the order of memory
 * @param lanes how many lines
 */
record LineGroup(
    HostMemory re, HostMemory im, long length, long inner, long first, int lanes, int bytes) {
  /** Rows that are transposed together: as many numbers of a line are a cache line. */
  private static final int TILE = 16;

  /** Moves numbers {@code row}, {@code row + step} and so on of the lines. */
  void move(boolean read, HostMemory plane, long row, int step, int count, Run rows) {
    if (inner == 1 && step == 1 && bytes == Float.BYTES) {
      movePairs(
          read, plane, row, count / 2, rows.everySecond(), rows.plus(rows.step()).everySecond());
      if (count % 2 == 1) {
        moveLanes(read, plane, row + count - 1, step, 1, rows.plus((count - 1) * rows.step()));
      }
      return;
    }
    if (inner > 1) {
      moveLanes(read, plane, row, step, count, rows);
      return;
    }
    for (int r = 0; r < count; r += TILE) {
      moveLanes(
          read,
          plane,
          row + (long) r * step,
          step,
          Math.min(TILE, count - r),
          rows.plus(r * rows.step()));
    }
  }

  private void moveLanes(boolean read, HostMemory plane, long row, int step, int count, Run rows) {
    int together;
    for (int lane = 0; lane < lanes; lane += together) {
      long line = first + lane;
      long column = line % inner;
      together = (int) Math.min(lanes - lane, inner - column);
      long start = (line / inner * length + row) * inner + column;
      Run memory = new Run(plane.base(), plane.offset() + start * bytes, step * inner * bytes);
      Run own = rows.plus((long) lane * bytes);
      LineMoves.copy(read ? memory : own, read ? own : memory, count, together * bytes);
    }
  }

  /**
   * Moves pairs of numbers from {@code row} on, of which the first go to one run of rows and the
   * second to another.
   */
  void movePairs(boolean read, HostMemory plane, long row, int pairs, Run firsts, Run seconds) {
    if (inner > 1 || bytes != Float.BYTES) {
      move(read, plane, row, 2, pairs, firsts);
      move(read, plane, row + 1, 2, pairs, seconds);
      return;
    }
    for (int pair = 0; pair < pairs; pair += TILE / 2) {
      int count = Math.min(TILE / 2, pairs - pair);
      long start = plane.offset() + (first * length + row + 2L * pair) * bytes;
      Run own = firsts.plus(pair * firsts.step());
      Run other = seconds.plus(pair * seconds.step());
      for (int lane = 0; lane + 1 < lanes; lane += 2) {
        long at = start + lane * length * bytes;
        Run a = new Run(plane.base(), at, 2 * bytes);
        Run b = new Run(plane.base(), at + length * bytes, 2 * bytes);
        Run c = own.plus((long) lane * bytes);
        Run d = other.plus((long) lane * bytes);
        if (read) {
          LineMoves.transposeInts(a, b, c, d, count);
        } else {
          LineMoves.transposeInts(c, d, a, b, count);
        }
      }
      if (lanes % 2 == 1) {
        long at = start + (lanes - 1) * length * bytes;
        Run memory = new Run(plane.base(), at, 2 * bytes);
        Run next = memory.plus(bytes);
        Run c = own.plus((lanes - 1L) * bytes);
        Run d = other.plus((lanes - 1L) * bytes);
        LineMoves.copy(read ? memory : c, read ? c : memory, count, bytes);
        LineMoves.copy(read ? next : d, read ? d : next, count, bytes);
      }
    }
  }
}
