package org.tilespark.kernels.host;

import java.util.Arrays;
import org.tilespark.kernels.multiply.MultiplyProblem.Factors;

/** {@link PackedPanels} of doubles. */
final class DoublePanels extends PackedPanels {
  private final DoubleKernel kernel;
  double[] part = {}; // micro tiles: sums of some chains
  double[] group = {}; // micro tiles: sums of those sums
  double[] a = {};
  double[] b = {};
  private final double[] before;
  private final double[] result;
  double[] sum = {};
  double[] error = {}; // what sum lost to rounding

  DoublePanels(DoubleKernel kernel) {
    super(kernel.rows, kernel.cols, Double.BYTES);
    this.kernel = kernel;
    this.before = new double[rows * cols];
    this.result = new double[rows * cols];
  }

  @Override
  void reserve(int tileRows, int tileCols, int blockRows, int steps) {
    int elementsA = elementsA(tileRows, steps);
    int elementsB = elementsB(tileCols, steps);
    int elements = Math.toIntExact(first + padded(tileRows, tileCols));
    a = a.length < elementsA ? new double[elementsA] : a;
    b = b.length < elementsB ? new double[elementsB] : b;
    if (sum.length < elements) {
      sum = new double[elements];
      error = new double[elements];
    }
    int inBlock = Math.toIntExact(padded(blockRows, cols));
    if (part.length < inBlock) {
      part = new double[inBlock];
      group = new double[inBlock];
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
    double alpha = factors.alpha();
    double beta = factors.beta();
    for (int e = 0; e < result.length; e++) {
      double product = alpha * sum(at + e);
      result[e] = beta == 0 ? product : Math.fma(beta, before[e], product);
    }
  }

  /** One sum. An infinite one has no error: what was computed for it is NaN. */
  double sum(int at) {
    return Double.isFinite(error[at]) ? sum[at] + error[at] : sum[at];
  }
}
