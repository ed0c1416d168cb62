package org.tilespark.kernels.host;

import java.util.Arrays;
import java.util.function.IntConsumer;
import org.tilespark.kernels.multiply.MultiplyProblem.Factors;

/** {@link PackedPanels} of doubles. */
final class DoublePanels extends PackedPanels {
  private final DoubleKernel kernel;
  double[] part = {}; // micro tiles of a block: sums of some chains; in the end, errors
  double[] group = {}; // micro tiles of a block: sums of those sums; in the end, all sums
  double[] a = {};
  double[] b = {};
  private final double[] pieces = new double[Packing.PIECES_BYTES / Double.BYTES];
  private final double[] before;
  final double[] result;
  double[] sum = {};
  double[] error = {}; // what sum lost to rounding

  DoublePanels(DoubleKernel kernel) {
    super(kernel.rows, kernel.cols, Double.BYTES);
    this.kernel = kernel;
    this.before = new double[rows * cols];
    this.result = new double[rows * cols];
  }

  @Override
  void reserve(int tileRows, int tileCols, int blockRows, int steps, long groups) {
    int elementsA = elementsA(blockRows, steps);
    int elementsB = elementsB(tileCols, steps);
    int elements = Math.toIntExact(first + padded(tileRows, tileCols));
    a = a.length < elementsA ? new double[elementsA] : a;
    b = b.length < elementsB ? new double[elementsB] : b;
    sum = groups > 1 && sum.length < elements ? new double[elements] : sum;
    error = groups > 2 && error.length < elements ? new double[elements] : error;
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
    do { // without steps, a sum of nothing
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

  /** Adds a micro tile of {@code part} to that of {@code group}. */
  private void addSpan(int in, boolean isFirst) {
    if (isFirst) {
      System.arraycopy(part, in, group, in, rows * cols);
    } else {
      kernel.addPart(this, in, rows * cols);
    }
  }

  /** Adds a micro tile of {@code group} to the sums at {@code at}. */
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
    if (!kernel.addErrors(this, at)) {
      for (int e = 0; e < result.length; e++) {
        result[e] = sum(at + e);
      }
    }
    if (factors.equals(Factors.OVERWRITE)) {
      return;
    }
    double alpha = factors.alpha();
    double beta = factors.beta();
    for (int e = 0; e < result.length; e++) {
      double product = alpha * result[e];
      result[e] = beta == 0 ? product : Math.fma(beta, before[e], product);
    }
  }

  /** One sum. An infinite one has no error: what was computed for it is NaN. */
  double sum(int at) {
    return Double.isFinite(part[at]) ? group[at] + part[at] : group[at];
  }
}
