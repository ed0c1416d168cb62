package org.tilespark.kernels.host;

import jdk.incubator.vector.FloatVector;

/**
 * A micro-kernel for floats on 8 rows by 2 vectors: 16 accumulators, 2 vectors of B and one of A:
 * made for 32 registers. More accumulators would fit, but C2 would spill some of them.
 *
 * <p>C2 keeps accumulators in registers if they are local variables of one method, and if the loop
 * has no range checks, whose traps would keep the accumulators alive. C2 moves the checks out of
 * the loop if strides are powers of two.
 */
final class FloatVectors8x2 extends FloatVectorKernel {
  private static final int ROWS = 8;
  private static final int COLS = 2 * LANES;

  FloatVectors8x2() {
    super(ROWS, COLS);
  }

  @Override
  void chains(FloatPanels panels, int fromA, int fromB, int steps, int chain, int to) {
    float[] a = panels.a;
    float[] b = panels.b;
    float[] part = panels.part;
    for (int first = 0; first < steps; first += chain) {
      int end = Math.min(first + chain, steps);
      FloatVector zero = FloatVector.zero(SPECIES);
      FloatVector c00 = zero;
      FloatVector c01 = zero;
      FloatVector c10 = zero;
      FloatVector c11 = zero;
      FloatVector c20 = zero;
      FloatVector c21 = zero;
      FloatVector c30 = zero;
      FloatVector c31 = zero;
      FloatVector c40 = zero;
      FloatVector c41 = zero;
      FloatVector c50 = zero;
      FloatVector c51 = zero;
      FloatVector c60 = zero;
      FloatVector c61 = zero;
      FloatVector c70 = zero;
      FloatVector c71 = zero;
      for (int p = first; p < end; p++) {
        int atA = fromA + p * ROWS;
        int atB = fromB + p * COLS;
        FloatVector b0 = FloatVector.fromArray(SPECIES, b, atB);
        FloatVector b1 = FloatVector.fromArray(SPECIES, b, atB + LANES);
        FloatVector a0 = FloatVector.broadcast(SPECIES, a[atA]);
        c00 = a0.fma(b0, c00);
        c01 = a0.fma(b1, c01);
        FloatVector a1 = FloatVector.broadcast(SPECIES, a[atA + 1]);
        c10 = a1.fma(b0, c10);
        c11 = a1.fma(b1, c11);
        FloatVector a2 = FloatVector.broadcast(SPECIES, a[atA + 2]);
        c20 = a2.fma(b0, c20);
        c21 = a2.fma(b1, c21);
        FloatVector a3 = FloatVector.broadcast(SPECIES, a[atA + 3]);
        c30 = a3.fma(b0, c30);
        c31 = a3.fma(b1, c31);
        FloatVector a4 = FloatVector.broadcast(SPECIES, a[atA + 4]);
        c40 = a4.fma(b0, c40);
        c41 = a4.fma(b1, c41);
        FloatVector a5 = FloatVector.broadcast(SPECIES, a[atA + 5]);
        c50 = a5.fma(b0, c50);
        c51 = a5.fma(b1, c51);
        FloatVector a6 = FloatVector.broadcast(SPECIES, a[atA + 6]);
        c60 = a6.fma(b0, c60);
        c61 = a6.fma(b1, c61);
        FloatVector a7 = FloatVector.broadcast(SPECIES, a[atA + 7]);
        c70 = a7.fma(b0, c70);
        c71 = a7.fma(b1, c71);
      }
      ONE.fma(FloatVector.fromArray(SPECIES, part, to), c00).intoArray(part, to);
      ONE.fma(FloatVector.fromArray(SPECIES, part, to + LANES), c01).intoArray(part, to + LANES);
      ONE.fma(FloatVector.fromArray(SPECIES, part, to + 2 * LANES), c10)
          .intoArray(part, to + 2 * LANES);
      ONE.fma(FloatVector.fromArray(SPECIES, part, to + 3 * LANES), c11)
          .intoArray(part, to + 3 * LANES);
      ONE.fma(FloatVector.fromArray(SPECIES, part, to + 4 * LANES), c20)
          .intoArray(part, to + 4 * LANES);
      ONE.fma(FloatVector.fromArray(SPECIES, part, to + 5 * LANES), c21)
          .intoArray(part, to + 5 * LANES);
      ONE.fma(FloatVector.fromArray(SPECIES, part, to + 6 * LANES), c30)
          .intoArray(part, to + 6 * LANES);
      ONE.fma(FloatVector.fromArray(SPECIES, part, to + 7 * LANES), c31)
          .intoArray(part, to + 7 * LANES);
      ONE.fma(FloatVector.fromArray(SPECIES, part, to + 8 * LANES), c40)
          .intoArray(part, to + 8 * LANES);
      ONE.fma(FloatVector.fromArray(SPECIES, part, to + 9 * LANES), c41)
          .intoArray(part, to + 9 * LANES);
      ONE.fma(FloatVector.fromArray(SPECIES, part, to + 10 * LANES), c50)
          .intoArray(part, to + 10 * LANES);
      ONE.fma(FloatVector.fromArray(SPECIES, part, to + 11 * LANES), c51)
          .intoArray(part, to + 11 * LANES);
      ONE.fma(FloatVector.fromArray(SPECIES, part, to + 12 * LANES), c60)
          .intoArray(part, to + 12 * LANES);
      ONE.fma(FloatVector.fromArray(SPECIES, part, to + 13 * LANES), c61)
          .intoArray(part, to + 13 * LANES);
      ONE.fma(FloatVector.fromArray(SPECIES, part, to + 14 * LANES), c70)
          .intoArray(part, to + 14 * LANES);
      ONE.fma(FloatVector.fromArray(SPECIES, part, to + 15 * LANES), c71)
          .intoArray(part, to + 15 * LANES);
    }
  }
}
