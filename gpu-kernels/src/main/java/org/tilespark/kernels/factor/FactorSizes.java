package org.tilespark.kernels.factor;

import org.tilespark.kernels.memory.HostMemory;
import sun.misc.Unsafe;

/** Checks of arguments for all factorizers, and steps that need no LAPACK. */
public final class FactorSizes {
  private static final Unsafe UNSAFE = HostMemory.unsafe();

  private FactorSizes() {}

  /** Checks that a matrix of (rows, cols) has the right number of bytes. */
  public static void require(String name, HostMemory memory, int rows, int cols) {
    if (rows < 0 || cols < 0) {
      throw new IllegalArgumentException(
          "%s of %d x %d; expected extents of 0 or more".formatted(name, rows, cols));
    }
    long needed = Math.multiplyExact((long) rows * cols, (long) Double.BYTES);
    if (memory.bytes() != needed) {
      throw new IllegalArgumentException(
          "%s holds %d bytes; a matrix of %d x %d doubles needs %d"
              .formatted(name, memory.bytes(), rows, cols, needed));
    }
  }

  /** Checks that a vector has the right number of bytes. */
  public static void require(String name, HostMemory memory, int length) {
    require(name, memory, length, 1);
  }

  /** Checks that there are n pivots. */
  public static void requirePivots(int n, int[] pivots) {
    if (pivots.length != n) {
      throw new IllegalArgumentException(
          "%d pivots of a matrix of %d x %d; expected %d".formatted(pivots.length, n, n, n));
    }
  }

  /** Checks that the number {@code k} of eigenvalues is 0 to {@code n}. */
  public static void requireCount(int n, int k) {
    if (k < 0 || k > n) {
      throw new IllegalArgumentException(
          "%d eigenvalues of a matrix of %d x %d; expected 0 to %d".formatted(k, n, n, n));
    }
  }

  /** Checks that the diagonal of a triangle, if it is read, has no zero. */
  public static void requireRegular(Triangle triangle, int n, HostMemory t) {
    if (triangle.hasUnitDiagonal()) {
      return;
    }
    for (int i = 0; i < n; i++) {
      if (get(t, (long) i * n + i) == 0) {
        throw new SingularMatrixException(i + 1, n);
      }
    }
  }

  /** Element {@code place} of memory that holds FLOAT64 numbers. */
  public static double get(HostMemory memory, long place) {
    return UNSAFE.getDouble(memory.base(), memory.offset() + place * Double.BYTES);
  }

  static void put(HostMemory memory, long place, double value) {
    UNSAFE.putDouble(memory.base(), memory.offset() + place * Double.BYTES, value);
  }

  /**
   * Exchanges the rows of a solution as {@link Factorizer#lu} exchanged the matrix's columns, in
   * reverse order.
   */
  public static void exchangeBack(int n, int cols, int[] pivots, HostMemory b) {
    for (int i = n - 1; i >= 0; i--) {
      int other = pivots[i] - 1;
      if (other != i) {
        for (int j = 0; j < cols; j++) {
          long place = (long) i * cols + j;
          long otherPlace = (long) other * cols + j;
          double value = get(b, place);
          put(b, place, get(b, otherPlace));
          put(b, otherPlace, value);
        }
      }
    }
  }

  /**
   * Clears the elements on one side of the diagonal of a matrix of {@code (rows, cols)}.
   *
   * @param below true for the elements below the diagonal, false for those above
   */
  public static void clear(boolean below, int rows, int cols, HostMemory matrix) {
    for (int i = 0; i < rows; i++) {
      long from = below ? 0 : Math.min(cols, i + 1L);
      long to = below ? Math.min(cols, i) : cols;
      if (to > from) {
        matrix
            .slice(((long) i * cols + from) * Double.BYTES, (to - from) * Double.BYTES)
            .fill((byte) 0);
      }
    }
  }

  /** Copies the transpose of {@code source} (rows, cols) to {@code target} (cols, rows). */
  static void transpose(int rows, int cols, HostMemory source, HostMemory target) {
    int step = 32; // a square of 8 KiB of each matrix stays in the first-level cache
    for (int i0 = 0; i0 < rows; i0 += step) {
      for (int j0 = 0; j0 < cols; j0 += step) {
        int iEnd = Math.min(rows, i0 + step);
        int jEnd = Math.min(cols, j0 + step);
        for (int i = i0; i < iEnd; i++) {
          for (int j = j0; j < jEnd; j++) {
            put(target, (long) j * rows + i, get(source, (long) i * cols + j));
          }
        }
      }
    }
  }
}
