package org.tilespark.kernels.host;

import java.util.Arrays;
import java.util.function.IntConsumer;
import org.tilespark.kernels.multiply.MultiplyProblem.Factors;

/** {@link PackedPanels} of floats. */
final class FloatPanels extends PackedPanels {
  /** Fewer elements than this are copied by a loop, which takes less time than a call. */
  private static final int FEW = 8;

  private final FloatKernel kernel;
  float[] part = {}; // micro tiles of a block: sums of some chains; in the end, errors
  float[] group = {}; // micro tiles of a block: sums of part's sums; in the end, the total
  float[] a = {};
  float[] b = {};
  private final float[] pieces = new float[Packing.PIECES_BYTES / Float.BYTES];
  final float[] before;
  final float[] result;
  float[] sum = {};
  float[] error = {}; // rounding errors that sum lacks

  FloatPanels(FloatKernel kernel) {
    super(kernel.rows, kernel.cols, Float.BYTES);
    this.kernel = kernel;
    this.before = new float[rows * cols];
    this.result = new float[rows * cols];
  }

  @Override
  void reserve(int tileRows, int tileCols, int blockRows, int steps, long groups) {
    int elementsA = elementsA(blockRows, steps);
    int elementsB = elementsB(tileCols, steps);
    int elements = Math.toIntExact(first + padded(tileRows, tileCols));
    a = a.length < elementsA ? new float[elementsA] : a;
    b = b.length < elementsB ? new float[elementsB] : b;
    sum = groups > 1 && sum.length < elements ? new float[elements] : sum;
    error = groups > 2 && error.length < elements ? new float[elements] : error;
    int inBlock = Math.toIntExact(padded(blockRows, cols));
    if (part.length < inBlock) {
      part = new float[inBlock];
      group = new float[inBlock];
    }
  }

  @Override
  Object a() {
    return a;
  }

  @Override
  Object b() {
    return b;
  }

  @Override
  Object pieces() {
    return pieces;
  }

  @Override
  Object result() {
    return result;
  }

  @Override
  Object before() {
    return before;
  }

  @Override
  void multiply(int tiles, int fromB, Steps steps, int at, IntConsumer summed) {
    int elements = rows * cols;
    int span = steps.chain() * SumOrder.SPAN;
    int from = 0;
    do { // without steps, the sum is 0
      int to = Math.min(from + span, steps.count());
      int p = from;
      do {
        int end = Math.min(p + steps.near(), to);
        for (int tile = 0; tile < tiles; tile++) {
          int in = tile * elements;
          if (p == from) {
            Arrays.fill(part, in, in + elements, 0);
          }
          int ofA = (tile * steps.count() + p) * rows;
          kernel.chains(this, ofA, fromB + p * cols, end - p, steps.chain(), in);
          if (end == to) {
            addSpan(in, from == 0);
          }
          if (end == steps.count()) {
            addGroup(in, steps, at + in);
            if (steps.isLast()) {
              summed.accept(tile);
            }
          }
        }
        p = end;
      } while (p < to);
      from = to;
    } while (from < steps.count());
  }

  /**
   * Adds the sums in {@code part} of the micro tile at {@code in} to those in {@code group}; if
   * {@code isFirst}, replaces those.
   */
  private void addSpan(int in, boolean isFirst) {
    if (isFirst) {
      System.arraycopy(part, in, group, in, rows * cols);
    } else {
      kernel.addPart(this, in, rows * cols);
    }
  }

  /** Adds the group's micro tile at {@code in} to the sums from index {@code at} on. */
  private void addGroup(int in, Steps steps, int at) {
    if (steps.number() > 0) {
      kernel.addGroup(this, in, rows * cols, at, steps);
    } else if (steps.isLast()) {
      Arrays.fill(part, in, in + rows * cols, 0);
    } else {
      System.arraycopy(group, in, sum, at, rows * cols);
    }
  }

  @Override
  void scale(int at, Factors factors) {
    ScaledSums.scale(this, at, factors);
  }

  /**
   * Fills {@link #result} with the sums of the micro tile at {@code at} of the group, plus their
   * errors.
   *
   * @return true if all results are finite
   */
  boolean addErrors(int at) {
    return kernel.addErrors(this, at);
  }

  /**
   * Copies elements from {@code first} on, as many as a panel is wide, of each of {@code steps}
   * pieces of {@code count} elements into a panel.
   */
  static void deal(
      float[] pieces, int first, int count, float[] panel, int at, int width, int steps) {
    int present = Math.min(width, count - first);
    for (int step = 0; step < steps; step++) {
      int to = at + step * width;
      int from = step * count + first;
      if (present < FEW) {
        for (int e = 0; e < present; e++) {
          panel[to + e] = pieces[from + e];
        }
      } else {
        System.arraycopy(pieces, from, panel, to, present);
      }
      Arrays.fill(panel, to + present, to + width, 0);
    }
  }
}
