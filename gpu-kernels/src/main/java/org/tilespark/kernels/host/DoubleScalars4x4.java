package org.tilespark.kernels.host;

/**
 * A micro-kernel for doubles on 4 rows by 4 columns without the Vector API: the same sums as with
 * it, bit for bit, where the CPU multiplies and adds in one rounding.
 */
final class DoubleScalars4x4 extends DoubleKernel {
  private static final int SIDE = 4;

  DoubleScalars4x4() {
    super(SIDE, SIDE);
  }

  @Override
  void chains(DoublePanels panels, int fromA, int fromB, int steps, int chain, int to) {
    double[] a = panels.a;
    double[] b = panels.b;
    double[] part = panels.part;
    for (int first = 0; first < steps; first += chain) {
      int end = Math.min(first + chain, steps);
      double c00 = 0;
      double c01 = 0;
      double c02 = 0;
      double c03 = 0;
      double c10 = 0;
      double c11 = 0;
      double c12 = 0;
      double c13 = 0;
      double c20 = 0;
      double c21 = 0;
      double c22 = 0;
      double c23 = 0;
      double c30 = 0;
      double c31 = 0;
      double c32 = 0;
      double c33 = 0;
      for (int p = first; p < end; p++) {
        int atA = fromA + p * SIDE;
        int atB = fromB + p * SIDE;
        double b0 = b[atB];
        double b1 = b[atB + 1];
        double b2 = b[atB + 2];
        double b3 = b[atB + 3];
        double a0 = a[atA];
        c00 = Fma.of(a0, b0, c00);
        c01 = Fma.of(a0, b1, c01);
        c02 = Fma.of(a0, b2, c02);
        c03 = Fma.of(a0, b3, c03);
        double a1 = a[atA + 1];
        c10 = Fma.of(a1, b0, c10);
        c11 = Fma.of(a1, b1, c11);
        c12 = Fma.of(a1, b2, c12);
        c13 = Fma.of(a1, b3, c13);
        double a2 = a[atA + 2];
        c20 = Fma.of(a2, b0, c20);
        c21 = Fma.of(a2, b1, c21);
        c22 = Fma.of(a2, b2, c22);
        c23 = Fma.of(a2, b3, c23);
        double a3 = a[atA + 3];
        c30 = Fma.of(a3, b0, c30);
        c31 = Fma.of(a3, b1, c31);
        c32 = Fma.of(a3, b2, c32);
        c33 = Fma.of(a3, b3, c33);
      }
      part[to] += c00;
      part[to + 1] += c01;
      part[to + 2] += c02;
      part[to + 3] += c03;
      part[to + 4] += c10;
      part[to + 5] += c11;
      part[to + 6] += c12;
      part[to + 7] += c13;
      part[to + 8] += c20;
      part[to + 9] += c21;
      part[to + 10] += c22;
      part[to + 11] += c23;
      part[to + 12] += c30;
      part[to + 13] += c31;
      part[to + 14] += c32;
      part[to + 15] += c33;
    }
  }

  @Override
  void addGroup(DoublePanels panels, int in, int elements, int at, PackedPanels.Steps steps) {
    double[] group = panels.group;
    double[] sum = panels.sum;
    double[] error = panels.error;
    double[] sums = steps.isLast() ? group : sum;
    double[] errors = steps.isLast() ? panels.part : error;
    int to = steps.isLast() ? in : at;
    boolean hasError = steps.number() > 1;
    for (int e = 0; e < elements; e++) {
      double before = sum[at + e];
      double term = group[in + e];
      double after = before + term;
      double termSeen = after - before;
      double lost = (before - (after - termSeen)) + (term - termSeen);
      errors[to + e] = hasError ? error[at + e] + lost : lost;
      sums[to + e] = after;
    }
  }

  @Override
  void addPart(DoublePanels panels, int in, int elements) {
    for (int e = 0; e < elements; e++) {
      panels.group[in + e] += panels.part[in + e];
    }
  }

  @Override
  boolean addErrors(DoublePanels panels, int in) {
    double zeros = 0; // zero times infinity is NaN
    for (int e = 0; e < panels.result.length; e++) {
      panels.result[e] = panels.group[in + e] + panels.part[in + e];
      zeros += 0 * panels.result[e];
    }
    return zeros == 0;
  }
}
