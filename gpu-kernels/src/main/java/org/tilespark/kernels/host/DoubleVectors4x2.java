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
  void chain(DoublePanels panels, int fromA, int fromB, int steps) {
    double[] a = panels.a;
    double[] b = panels.b;
    DoubleVector c00 = DoubleVector.zero(SPECIES);
    DoubleVector c01 = DoubleVector.zero(SPECIES);
    DoubleVector c10 = DoubleVector.zero(SPECIES);
    DoubleVector c11 = DoubleVector.zero(SPECIES);
    DoubleVector c20 = DoubleVector.zero(SPECIES);
    DoubleVector c21 = DoubleVector.zero(SPECIES);
    DoubleVector c30 = DoubleVector.zero(SPECIES);
    DoubleVector c31 = DoubleVector.zero(SPECIES);
    for (int p = 0; p < steps; p++) {
      int atA = fromA + p * ROWS;
      int atB = fromB + p * COLS;
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
    double[] part = panels.part;
    c00.add(DoubleVector.fromArray(SPECIES, part, 0)).intoArray(part, 0);
    c01.add(DoubleVector.fromArray(SPECIES, part, LANES)).intoArray(part, LANES);
    c10.add(DoubleVector.fromArray(SPECIES, part, 2 * LANES)).intoArray(part, 2 * LANES);
    c11.add(DoubleVector.fromArray(SPECIES, part, 3 * LANES)).intoArray(part, 3 * LANES);
    c20.add(DoubleVector.fromArray(SPECIES, part, 4 * LANES)).intoArray(part, 4 * LANES);
    c21.add(DoubleVector.fromArray(SPECIES, part, 5 * LANES)).intoArray(part, 5 * LANES);
    c30.add(DoubleVector.fromArray(SPECIES, part, 6 * LANES)).intoArray(part, 6 * LANES);
    c31.add(DoubleVector.fromArray(SPECIES, part, 7 * LANES)).intoArray(part, 7 * LANES);
  }
}
