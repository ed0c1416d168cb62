package org.tilespark.kernels.host;

import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.multiply.MultiplyProblem;
import org.tilespark.kernels.multiply.MultiplyProblem.Factors;
import sun.misc.Unsafe;

/**
 * C in memory, or its transpose.
 *
 * @param rowStep elements between the starts of neighbouring rows
 * @param colStep elements between the starts of neighbouring columns
 * @param bytes bytes of an element, 4 or 8
 */
record ResultMatrix(
    HostMemory memory, long rows, long cols, long rowStep, long colStep, int bytes) {
  private static final Unsafe UNSAFE = HostMemory.unsafe();

  /**
   * The part of a micro tile that is inside C.
   *
   * @param above true to store only the elements on the diagonal of C or above
   */
  record Piece(long i, int rows, long j, int cols, boolean above) {
    /** The first column of row {@code row} of the micro tile that is stored. */
    int firstCol(int row) {
      return above ? (int) Math.max(0, i + row - j) : 0;
    }
  }

  static ResultMatrix of(MultiplyProblem problem, HostMemory c) {
    return new ResultMatrix(
        c, problem.m(), problem.n(), problem.leadC(), 1, problem.type().bytes());
  }

  ResultMatrix transposed() {
    return new ResultMatrix(memory, cols, rows, colStep, rowStep, bytes);
  }

  private long address(long i, long j) {
    return memory.offset() + (i * rowStep + j * colStep) * bytes;
  }

  /** Writes alpha times a micro tile's sums plus beta times C's elements into C. */
  void store(PackedPanels panels, int at, Piece piece, Factors factors) {
    if (factors.readsC()) {
      load(panels, piece);
    }
    panels.scale(at, factors);
    Object from = panels.result();
    int pitch = panels.cols;
    if (colStep == 1) {
      for (int row = 0; row < piece.rows(); row++) {
        int first = piece.firstCol(row);
        int count = piece.cols() - first;
        if (count > 0) {
          copy(
              from,
              inArray(row * pitch + first),
              memory.base(),
              address(piece.i() + row, piece.j() + first),
              count * bytes);
        }
      }
      return;
    }
    for (int col = 0; col < piece.cols(); col++) {
      for (int row = 0; row < piece.rows(); row++) {
        if (col >= piece.firstCol(row)) {
          long target = address(piece.i() + row, piece.j() + col);
          copy(from, inArray(row * pitch + col), memory.base(), target);
        }
      }
    }
  }

  /** Copies the elements of C in a micro tile to {@code panels.before}. */
  private void load(PackedPanels panels, Piece piece) {
    Object to = panels.before();
    for (int row = 0; row < piece.rows(); row++) {
      long target = inArray(row * panels.cols);
      if (colStep == 1) {
        long source = address(piece.i() + row, piece.j());
        UNSAFE.copyMemory(memory.base(), source, to, target, (long) piece.cols() * bytes);
        continue;
      }
      for (int col = 0; col < piece.cols(); col++) {
        long source = address(piece.i() + row, piece.j() + col);
        copy(memory.base(), source, to, target + (long) col * bytes);
      }
    }
  }

  /** Writes one element of C of type FLOAT, from its sum in double. */
  void put(long i, long j, double sum, Factors factors) {
    float value = ScaledSums.scaled(sum, factors, before(i, j, factors));
    UNSAFE.putFloat(memory.base(), address(i, j), value);
  }

  private float before(long i, long j, Factors factors) {
    return factors.readsC() ? UNSAFE.getFloat(memory.base(), address(i, j)) : 0;
  }

  private void copy(Object from, long source, Object to, long target) {
    if (bytes == Double.BYTES) {
      UNSAFE.putLong(to, target, UNSAFE.getLong(from, source));
    } else {
      UNSAFE.putInt(to, target, UNSAFE.getInt(from, source));
    }
  }

  private long inArray(int element) {
    return Packing.baseOffset(bytes) + (long) element * bytes;
  }

  /** Copies a small number of bytes, a multiple of 4: a loop takes less time than a call. */
  private static void copy(Object from, long source, Object to, long target, int bytes) {
    int at = 0;
    for (; at <= bytes - Long.BYTES; at += Long.BYTES) {
      UNSAFE.putLong(to, target + at, UNSAFE.getLong(from, source + at));
    }
    if (at < bytes) {
      UNSAFE.putInt(to, target + at, UNSAFE.getInt(from, source + at));
    }
  }
}
