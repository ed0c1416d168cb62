package org.tilespark.kernels.host;

import java.util.Arrays;
import org.tilespark.kernels.multiply.MultiplyProblem.Factors;

/** {@link PackedPanels} of doubles. */
final class DoublePanels extends PackedPanels {
  private final DoubleKernel kernel;
  final double[] part; // (rows, cols): sum of the chains since the last steps were packed
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
  void multiply(int fromA, int fromB, Steps order, int at) {
    Arrays.fill(part, 0);
    for (int p = 0; p < order.count(); p += order.chain()) {
      int steps = Math.min(order.chain(), order.count() - p);
      kernel.chain(this, fromA + p * rows, fromB + p * cols, steps);
    }
    if (order.isFirst()) {
      System.arraycopy(part, 0, sum, at, part.length);
      Arrays.fill(error, at, at + part.length, 0);
    } else {
      kernel.addPart(this, at);
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
