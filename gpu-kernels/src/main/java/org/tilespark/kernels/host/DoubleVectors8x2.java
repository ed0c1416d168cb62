package org.tilespark.kernels.host;

import jdk.incubator.vector.DoubleVector;

/**
 * A micro-kernel for doubles on 8 rows by 2 vectors: 16 accumulators, 2 vectors of B and one of A:
 * for 32 registers. More accumulators would fit, but C2 then spills some.
 *
 * <p>C2 keeps accumulators in registers if they are local variables of one method, and if the loop
 * has no range checks, whose traps would need them: it moves checks out of the loop where strides
 * are powers of two.
 */
final class DoubleVectors8x2 extends DoubleVectorKernel {
  private static final int ROWS = 8;
  private static final int COLS = 2 * LANES;

  DoubleVectors8x2() {
    super(ROWS, COLS);
  }

  @Override
  void chains(DoublePanels panels, int fromA, int fromB, int steps, int chain, int to) {
    double[] a = panels.a;
    double[] b = panels.b;
    double[] part = panels.part;
    for (int first = 0; first < steps; first += chain) {
      int end = Math.min(first + chain, steps);
      DoubleVector zero = DoubleVector.zero(SPECIES);
      DoubleVector c00 = zero;
      DoubleVector c01 = zero;
      DoubleVector c10 = zero;
      DoubleVector c11 = zero;
      DoubleVector c20 = zero;
      DoubleVector c21 = zero;
      DoubleVector c30 = zero;
      DoubleVector c31 = zero;
      DoubleVector c40 = zero;
      DoubleVector c41 = zero;
      DoubleVector c50 = zero;
      DoubleVector c51 = zero;
      DoubleVector c60 = zero;
      DoubleVector c61 = zero;
      DoubleVector c70 = zero;
      DoubleVector c71 = zero;
      for (int p = first; p < end; p++) {
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
        DoubleVector a4 = DoubleVector.broadcast(SPECIES, a[atA + 4]);
        c40 = a4.fma(b0, c40);
        c41 = a4.fma(b1, c41);
        DoubleVector a5 = DoubleVector.broadcast(SPECIES, a[atA + 5]);
        c50 = a5.fma(b0, c50);
        c51 = a5.fma(b1, c51);
        DoubleVector a6 = DoubleVector.broadcast(SPECIES, a[atA + 6]);
        c60 = a6.fma(b0, c60);
        c61 = a6.fma(b1, c61);
        DoubleVector a7 = DoubleVector.broadcast(SPECIES, a[atA + 7]);
        c70 = a7.fma(b0, c70);
        c71 = a7.fma(b1, c71);
      }
      ONE.fma(DoubleVector.fromArray(SPECIES, part, to), c00).intoArray(part, to);
      ONE.fma(DoubleVector.fromArray(SPECIES, part, to + LANES), c01).intoArray(part, to + LANES);
      ONE.fma(DoubleVector.fromArray(SPECIES, part, to + 2 * LANES), c10)
          .intoArray(part, to + 2 * LANES);
      ONE.fma(DoubleVector.fromArray(SPECIES, part, to + 3 * LANES), c11)
          .intoArray(part, to + 3 * LANES);
      ONE.fma(DoubleVector.fromArray(SPECIES, part, to + 4 * LANES), c20)
          .intoArray(part, to + 4 * LANES);
      ONE.fma(DoubleVector.fromArray(SPECIES, part, to + 5 * LANES), c21)
          .intoArray(part, to + 5 * LANES);
      ONE.fma(DoubleVector.fromArray(SPECIES, part, to + 6 * LANES), c30)
          .intoArray(part, to + 6 * LANES);
      ONE.fma(DoubleVector.fromArray(SPECIES, part, to + 7 * LANES), c31)
          .intoArray(part, to + 7 * LANES);
      ONE.fma(DoubleVector.fromArray(SPECIES, part, to + 8 * LANES), c40)
          .intoArray(part, to + 8 * LANES);
      ONE.fma(DoubleVector.fromArray(SPECIES, part, to + 9 * LANES), c41)
          .intoArray(part, to + 9 * LANES);
      ONE.fma(DoubleVector.fromArray(SPECIES, part, to + 10 * LANES), c50)
          .intoArray(part, to + 10 * LANES);
      ONE.fma(DoubleVector.fromArray(SPECIES, part, to + 11 * LANES), c51)
          .intoArray(part, to + 11 * LANES);
      ONE.fma(DoubleVector.fromArray(SPECIES, part, to + 12 * LANES), c60)
          .intoArray(part, to + 12 * LANES);
      ONE.fma(DoubleVector.fromArray(SPECIES, part, to + 13 * LANES), c61)
          .intoArray(part, to + 13 * LANES);
      ONE.fma(DoubleVector.fromArray(SPECIES, part, to + 14 * LANES), c70)
          .intoArray(part, to + 14 * LANES);
      ONE.fma(DoubleVector.fromArray(SPECIES, part, to + 15 * LANES), c71)
          .intoArray(part, to + 15 * LANES);
    }
  }
}
