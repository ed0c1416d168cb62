package org.tilespark.kernels.host;

import jdk.incubator.vector.DoubleVector;

/**
 * A micro-kernel for doubles on 4 rows by 2 vectors: 8 accumulators, 2 vectors of B and one of A:
 * for 16 registers. With 10 accumulators C2 spills some, and is a fifth slower at least.
 *
 * <p>C2 keeps accumulators in registers if they are local variables of one method, and if the loop
 * has no range checks, whose traps would need them: it moves checks out of the loop where strides
 * are powers of two.
 */
final class DoubleVectors4x2 extends DoubleVectorKernel {
  private static final int ROWS = 4;
  private static final int COLS = 2 * LANES;

  DoubleVectors4x2() {
    super(ROWS, COLS);
  }

  @Override
  void chains(DoublePanels panels, int fromA, int fromB, int steps, int chain, int to) {
    double[] a = panels.a;
    double[] b = panels.b;
    double[] part = panels.part;
    // The index in A counts steps: arithmetic on indices would take turns from multiply-adds.
    int shift = fromB - fromA * (COLS / ROWS);
    for (int first = 0; first < steps; first += chain) {
      int start = fromA + first * ROWS;
      int end = fromA + Math.min(first + chain, steps) * ROWS;
      DoubleVector zero = DoubleVector.zero(SPECIES);
      DoubleVector c00 = zero;
      DoubleVector c01 = zero;
      DoubleVector c10 = zero;
      DoubleVector c11 = zero;
      DoubleVector c20 = zero;
      DoubleVector c21 = zero;
      DoubleVector c30 = zero;
      DoubleVector c31 = zero;
      for (int atA = start; atA < end; atA += ROWS) {
        int atB = shift + atA * (COLS / ROWS);
        DoubleVector b0 = DoubleVector.fromArray(SPECIES, b, atB);
        DoubleVector b1 = DoubleVector.fromArray(SPECIES, b, atB + LANES);
        DoubleVector a0 = DoubleVector.broadcast(SPECIES, a[atA]);
        c00 = a0.fma(b0, c00);
        c01 = a0.fma(b1, c01);
        DoubleVector a1 = DoubleVector.broadcast(SPECIES, a[atA + 1]);
        c10 = a1.fma(b0, c10);
        c11 = a1.fma(b1, c11);
        DoubleVector a2 = DoubleVector.broadcast(SPECIES, a[atA + 2]);
        c20 = a2.fma(b0, c20);
        c21 = a2.fma(b1, c21);
        DoubleVector a3 = DoubleVector.broadcast(SPECIES, a[atA + 3]);
        c30 = a3.fma(b0, c30);
        c31 = a3.fma(b1, c31);
      }
      DoubleVector.fromArray(SPECIES, part, to).add(c00).intoArray(part, to);
      DoubleVector.fromArray(SPECIES, part, to + LANES).add(c01).intoArray(part, to + LANES);
      DoubleVector.fromArray(SPECIES, part, to + 2 * LANES)
          .add(c10)
          .intoArray(part, to + 2 * LANES);
      DoubleVector.fromArray(SPECIES, part, to + 3 * LANES)
          .add(c11)
          .intoArray(part, to + 3 * LANES);
      DoubleVector.fromArray(SPECIES, part, to + 4 * LANES)
          .add(c20)
          .intoArray(part, to + 4 * LANES);
      DoubleVector.fromArray(SPECIES, part, to + 5 * LANES)
          .add(c21)
          .intoArray(part, to + 5 * LANES);
      DoubleVector.fromArray(SPECIES, part, to + 6 * LANES)
          .add(c30)
          .intoArray(part, to + 6 * LANES);
      DoubleVector.fromArray(SPECIES, part, to + 7 * LANES)
          .add(c31)
          .intoArray(part, to + 7 * LANES);
    }
  }
}
