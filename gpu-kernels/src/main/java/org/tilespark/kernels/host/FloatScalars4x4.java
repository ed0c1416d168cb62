package org.tilespark.kernels.host;

/**
 * A micro-kernel for floats on 4 rows by 4 columns without the Vector API: it gives the same bits
 * as the vector kernels if the CPU has fused multiply-adds.
 */
final class FloatScalars4x4 extends FloatKernel {
  private static final int SIDE = 4;

  FloatScalars4x4() {
    super(SIDE, SIDE);
  }

  @Override
  void chains(FloatPanels panels, int fromA, int fromB, int steps, int chain, int to) {
    float[] a = panels.a;
    float[] b = panels.b;
    float[] part = panels.part;
    for (int first = 0; first < steps; first += chain) {
      int end = Math.min(first + chain, steps);
      float c00 = 0;
      float c01 = 0;
      float c02 = 0;
      float c03 = 0;
      float c10 = 0;
      float c11 = 0;
      float c12 = 0;
      float c13 = 0;
      float c20 = 0;
      float c21 = 0;
      float c22 = 0;
      float c23 = 0;
      float c30 = 0;
      float c31 = 0;
      float c32 = 0;
      float c33 = 0;
      for (int p = first; p < end; p++) {
        int atA = fromA + p * SIDE;
        int atB = fromB + p * SIDE;
        float b0 = b[atB];
        float b1 = b[atB + 1];
        float b2 = b[atB + 2];
        float b3 = b[atB + 3];
        float a0 = a[atA];
        c00 = Fma.of(a0, b0, c00);
        c01 = Fma.of(a0, b1, c01);
        c02 = Fma.of(a0, b2, c02);
        c03 = Fma.of(a0, b3, c03);
        float a1 = a[atA + 1];
        c10 = Fma.of(a1, b0, c10);
        c11 = Fma.of(a1, b1, c11);
        c12 = Fma.of(a1, b2, c12);
        c13 = Fma.of(a1, b3, c13);
        float a2 = a[atA + 2];
        c20 = Fma.of(a2, b0, c20);
        c21 = Fma.of(a2, b1, c21);
        c22 = Fma.of(a2, b2, c22);
        c23 = Fma.of(a2, b3, c23);
        float a3 = a[atA + 3];
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
  void addGroup(FloatPanels panels, int in, int elements, int at, PackedPanels.Steps steps) {
    float[] group = panels.group;
    float[] sum = panels.sum;
    float[] error = panels.error;
    float[] sums = steps.isLast() ? group : sum;
    float[] errors = steps.isLast() ? panels.part : error;
    int to = steps.isLast() ? in : at;
    boolean hasError = steps.number() > 1;
    for (int e = 0; e < elements; e++) {
      float before = sum[at + e];
      float term = group[in + e];
      float after = before + term;
      float termSeen = after - before;
      float lost = (before - (after - termSeen)) + (term - termSeen);
      errors[to + e] = hasError ? error[at + e] + lost : lost;
      sums[to + e] = after;
    }
  }

  @Override
  void addPart(FloatPanels panels, int in, int elements) {
    for (int e = 0; e < elements; e++) {
      panels.group[in + e] += panels.part[in + e];
    }
  }

  @Override
  boolean addErrors(FloatPanels panels, int in) {
    float zeros = 0; // zero times infinity is NaN
    for (int e = 0; e < panels.result.length; e++) {
      panels.result[e] = panels.group[in + e] + panels.part[in + e];
      zeros += 0 * panels.result[e];
    }
    return zeros == 0;
  }
}
