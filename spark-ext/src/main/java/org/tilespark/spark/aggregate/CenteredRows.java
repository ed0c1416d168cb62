package org.tilespark.spark.aggregate;

import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.ElementType;

/**
 * Subtracts a shift from each column of rows while it copies them, and adds up each column's
 * differences. Several rows are in a small array at a time, with a copy of the shift for each row:
 * the JVM vectorises loops whose arrays share one index. Not for several threads at once.
 */
abstract class CenteredRows {
  /**
   * Number of rows in the small array; also the number of rows of FLOAT whose differences are
   * summed in FLOAT before that sum is added in double.
   */
  private static final int SOME = 16;

  private final int cols;
  private final long rowBytes;
  private final HostMemory some; // view of the subclass's small array, (SOME, cols)
  final double[] sums; // sum of each column's differences

  private CenteredRows(int cols, Object array) {
    this.cols = cols;
    this.some = HostMemory.ofArray(array);
    this.rowBytes = some.bytes() / SOME;
    this.sums = new double[cols];
  }

  /** Makes an object for rows of {@code cols} elements. */
  static CenteredRows of(ElementType type, int cols) {
    return type == ElementType.FLOAT32 ? new Floats(cols) : new Doubles(cols);
  }

  /**
   * Starts with other rows: sets the shift, and the sums to zero.
   *
   * @param shift number to subtract from each column; it is rounded to the elements' type in place
   */
  abstract void begin(double[] shift);

  /**
   * Subtracts the shift from the first {@code elements} elements of the small array, and adds the
   * differences to the sums.
   */
  abstract void subtract(int elements);

  /** Sums of each column's differences; borrowed until the next {@link #begin}. */
  abstract double[] sums();

  /**
   * Subtracts the shift from rows.
   *
   * @param from memory of dense rows
   * @param to memory of as many bytes for the results; may be {@code from}
   */
  void move(HostMemory from, HostMemory to) {
    for (long at = 0; at < from.bytes(); at += some.bytes()) {
      long bytes = Math.min(some.bytes(), from.bytes() - at);
      from.slice(at, bytes).copyTo(some);
      subtract((int) (bytes / rowBytes) * cols);
      some.slice(0, bytes).copyTo(to.slice(at, bytes));
    }
  }

  private static final class Floats extends CenteredRows {
    private final float[] left;
    private final float[] shifts;
    private final float[] partial; // partial sums of differences, (SOME, cols)
    private int summed; // count of differences in each partial sum

    private Floats(int cols) {
      this(new float[SOME * cols]);
    }

    private Floats(float[] left) {
      super(left.length / SOME, left);
      this.left = left;
      this.shifts = new float[left.length];
      this.partial = new float[left.length];
    }

    @Override
    void begin(double[] shift) {
      sums();
      for (int j = 0; j < shift.length; j++) {
        shift[j] = (float) shift[j];
        sums[j] = 0;
      }
      for (int i = 0; i < shifts.length; i++) {
        shifts[i] = (float) shift[i % shift.length];
      }
    }

    @Override
    void subtract(int elements) {
      for (int i = 0; i < elements; i++) {
        left[i] -= shifts[i];
        partial[i] += left[i];
      }
      summed++;
      if (summed == SOME) {
        sums();
      }
    }

    @Override
    double[] sums() {
      for (int at = 0; at < partial.length; at += sums.length) {
        for (int j = 0; j < sums.length; j++) {
          sums[j] += partial[at + j];
          partial[at + j] = 0;
        }
      }
      summed = 0;
      return sums;
    }
  }

  private static final class Doubles extends CenteredRows {
    private final double[] left;
    private final double[] shifts;
    private final double[] partial; // partial sums of differences, (SOME, cols)

    private Doubles(int cols) {
      this(new double[SOME * cols]);
    }

    private Doubles(double[] left) {
      super(left.length / SOME, left);
      this.left = left;
      this.shifts = new double[left.length];
      this.partial = new double[left.length];
    }

    @Override
    void begin(double[] shift) {
      for (int i = 0; i < shifts.length; i++) {
        shifts[i] = shift[i % shift.length];
        partial[i] = 0;
      }
    }

    @Override
    void subtract(int elements) {
      for (int i = 0; i < elements; i++) {
        left[i] -= shifts[i];
        partial[i] += left[i];
      }
    }

    @Override
    double[] sums() {
      for (int j = 0; j < sums.length; j++) {
        sums[j] = 0;
        for (int at = j; at < partial.length; at += sums.length) {
          sums[j] += partial[at];
        }
      }
      return sums;
    }
  }
}
