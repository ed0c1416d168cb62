package org.tilespark.kernels.host;

import java.util.Arrays;
import org.tilespark.kernels.multiply.MultiplyProblem.Factors;

/** {@link PackedPanels} of floats. */
final class FloatPanels extends PackedPanels {
  private final FloatKernel kernel;
  float[] part = {}; // micro tiles: sums of some chains
  float[] group = {}; // micro tiles: sums of those sums
  float[] a = {};
  float[] b = {};
  private final float[] before;
  private final float[] result;
  private final float[] zeros; // (cols)
  float[] sum = {};
  float[] error = {}; // what sum lost to rounding

  FloatPanels(FloatKernel kernel) {
    super(kernel.rows, kernel.cols, Float.BYTES);
    this.kernel = kernel;
    this.before = new float[rows * cols];
    this.result = new float[rows * cols];
    this.zeros = new float[cols];
  }

  @Override
  void reserve(int tileRows, int tileCols, int blockRows, int steps) {
    int elementsA = elementsA(tileRows, steps);
    int elementsB = elementsB(tileCols, steps);
    int elements = Math.toIntExact(first + padded(tileRows, tileCols));
    a = a.length < elementsA ? new float[elementsA] : a;
    b = b.length < elementsB ? new float[elementsB] : b;
    if (sum.length < elements) {
      sum = new float[elements];
      error = new float[elements];
    }
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
  Object result() {
    return result;
  }

  @Override
  Object before() {
    return before;
  }

  @Override
  void multiply(int fromA, int tiles, int fromB, Steps steps, int at) {
    int elements = tiles * rows * cols;
    int span = steps.chain() * SumOrder.SPAN;
    int from = 0;
    do { // without steps, a sum of nothing
      Arrays.fill(part, 0, elements, 0);
      int to = Math.min(from + span, steps.count());
      for (int p = from; p < to; p += steps.near()) {
        int end = Math.min(p + steps.near(), to);
        for (int tile = 0; tile < tiles; tile++) {
          int a = fromA + tile * rows * steps.count();
          chains(a, fromB, p, end, steps.chain(), tile * rows * cols);
        }
      }
      if (from == 0) {
        System.arraycopy(part, 0, group, 0, elements);
      } else {
        kernel.addPart(this, elements);
      }
      from += span;
    } while (from < steps.count());
    if (steps.number() > 0) {
      kernel.addGroup(this, at, elements, steps.number() == 1);
      return;
    }
    System.arraycopy(group, 0, sum, at, elements);
    if (steps.isLast()) {
      Arrays.fill(error, at, at + elements, 0);
    }
  }

  /** Adds the chains from step {@code from} to {@code end} of two panels. */
  private void chains(int fromA, int fromB, int from, int end, int chain, int to) {
    for (int p = from; p < end; p += chain) {
      int count = Math.min(chain, end - p);
      kernel.chain(this, fromA + p * rows, fromB + p * cols, count, to);
    }
  }

  @Override
  void scale(int at, Factors factors) {
    if (factors.equals(Factors.OVERWRITE)) {
      for (int e = 0; e < result.length; e++) {
        result[e] = sum[at + e] + error[at + e];
      }
    } else if (factors.equals(Factors.ADD)) {
      for (int e = 0; e < result.length; e++) {
        result[e] = (float) ((double) sum[at + e] + error[at + e] + before[e]);
      }
    } else {
      for (int e = 0; e < result.length; e++) {
        result[e] = scaled(at + e, factors, before[e]);
      }
    }
  }

  /** One element of C, from a finite sum. */
  float scaled(int at, Factors factors, float before) {
    return scaled((double) sum[at] + error[at], factors, before);
  }

  /** Alpha times a sum is rounded to double; that and beta times C together, to float. */
  static float scaled(double sum, Factors factors, float before) {
    double product = factors.alpha() * sum;
    double beta = factors.beta();
    return (float) (beta == 0 ? product : product + beta * before);
  }

  /** True if all sums of a micro tile are finite. */
  boolean isFinite(int at) {
    // Zero times infinity is NaN. Columns side by side, which C2 makes vectors of.
    Arrays.fill(zeros, 0);
    for (int row = at; row < at + result.length; row += cols) {
      for (int c = 0; c < cols; c++) {
        zeros[c] += 0 * sum[row + c];
      }
    }
    float all = 0;
    for (float zero : zeros) {
      all += zero;
    }
    return all == 0;
  }

  /** True if one sum is. */
  boolean isFiniteSum(int at) {
    return Float.isFinite(sum[at]);
  }
}
