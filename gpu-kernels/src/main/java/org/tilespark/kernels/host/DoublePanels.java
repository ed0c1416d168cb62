package org.tilespark.kernels.host;

import java.util.Arrays;
import org.tilespark.kernels.multiply.MultiplyProblem.Factors;

/** {@link PackedPanels} of doubles. */
final class DoublePanels extends PackedPanels {
  private final DoubleKernel kernel;
  final double[] part; // (rows, cols): sum of some chains
  final double[] group; // (rows, cols): sum of those sums
  double[] a = {};
  double[] b = {};
  private final double[] before;
  private final double[] result;
  double[] sum = {};
  double[] error = {}; // what sum lost to rounding

  DoublePanels(DoubleKernel kernel) {
    super(kernel.rows, kernel.cols);
    this.kernel = kernel;
    this.part = new double[rows * cols];
    this.group = new double[part.length];
    this.before = new double[part.length];
    this.result = new double[part.length];
  }

  @Override
  void reserve(int tileRows, int tileCols, int steps) {
    int elementsA = elementsA(tileRows, steps);
    int elementsB = elementsB(tileCols, steps);
    int elements = Math.toIntExact(padded(tileRows, tileCols));
    a = a.length < elementsA ? new double[elementsA] : a;
    b = b.length < elementsB ? new double[elementsB] : b;
    if (sum.length < elements) {
      sum = new double[elements];
      error = new double[elements];
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
  void multiply(int fromA, int fromB, Steps steps, int at) {
    int span = steps.chain() * SumOrder.SPAN;
    int from = 0;
    do { // without steps, a sum of nothing
      Arrays.fill(part, 0);
      int to = Math.min(from + span, steps.count());
      for (int p = from; p < to; p += steps.chain()) {
        int count = Math.min(steps.chain(), to - p);
        kernel.chain(this, fromA + p * rows, fromB + p * cols, count);
      }
      if (from == 0) {
        System.arraycopy(part, 0, group, 0, part.length);
      } else {
        kernel.addPart(this);
      }
      from += span;
    } while (from < steps.count());
    if (steps.number() > 0) {
      kernel.addGroup(this, at, steps.number() == 1);
      return;
    }
    System.arraycopy(group, 0, sum, at, group.length);
    if (steps.isLast()) {
      Arrays.fill(error, at, at + group.length, 0);
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
