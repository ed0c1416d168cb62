package org.tilespark.kernels.host;

import jdk.incubator.vector.DoubleVector;

/**
 * A micro-kernel for doubles on 6 rows by 3 vectors: 18 accumulators, 3 vectors of B and one of A:
 * for 32 registers. More accumulators would fit, but C2 then spills some; where the stack lies
 * unevenly, a spilled vector straddles cache lines, and the loop takes up to twice as long.
 *
 * <p>C2 keeps accumulators in registers if they are local variables of one method, and if the loop
 * has no range checks, whose traps would need them. Panels have room for 8 rows and 4 vectors, so
 * that their strides are powers of two: then C2 moves the checks out of the loop.
 */
final class DoubleVectors6x3 extends DoubleVectorKernel {
  private static final int PITCH_A = 8;
  private static final int PITCH_B = 4 * LANES;

  DoubleVectors6x3() {
    super(6, PITCH_A, 3, PITCH_B);
  }

  @Override
  void chain(DoublePanels panels, int fromA, int fromB, int steps) {
    double[] a = panels.a;
    double[] b = panels.b;
    DoubleVector c00 = DoubleVector.zero(SPECIES);
    DoubleVector c01 = DoubleVector.zero(SPECIES);
    DoubleVector c02 = DoubleVector.zero(SPECIES);
    DoubleVector c10 = DoubleVector.zero(SPECIES);
    DoubleVector c11 = DoubleVector.zero(SPECIES);
    DoubleVector c12 = DoubleVector.zero(SPECIES);
    DoubleVector c20 = DoubleVector.zero(SPECIES);
    DoubleVector c21 = DoubleVector.zero(SPECIES);
    DoubleVector c22 = DoubleVector.zero(SPECIES);
    DoubleVector c30 = DoubleVector.zero(SPECIES);
    DoubleVector c31 = DoubleVector.zero(SPECIES);
    DoubleVector c32 = DoubleVector.zero(SPECIES);
    DoubleVector c40 = DoubleVector.zero(SPECIES);
    DoubleVector c41 = DoubleVector.zero(SPECIES);
    DoubleVector c42 = DoubleVector.zero(SPECIES);
    DoubleVector c50 = DoubleVector.zero(SPECIES);
    DoubleVector c51 = DoubleVector.zero(SPECIES);
    DoubleVector c52 = DoubleVector.zero(SPECIES);
    for (int p = 0; p < steps; p++) {
      int atA = fromA + p * PITCH_A;
      int atB = fromB + p * PITCH_B;
      DoubleVector b0 = DoubleVector.fromArray(SPECIES, b, atB);
      DoubleVector b1 = DoubleVector.fromArray(SPECIES, b, atB + LANES);
      DoubleVector b2 = DoubleVector.fromArray(SPECIES, b, atB + 2 * LANES);
      DoubleVector a0 = DoubleVector.broadcast(SPECIES, a[atA]);
      c00 = a0.fma(b0, c00);
      c01 = a0.fma(b1, c01);
      c02 = a0.fma(b2, c02);
      DoubleVector a1 = DoubleVector.broadcast(SPECIES, a[atA + 1]);
      c10 = a1.fma(b0, c10);
      c11 = a1.fma(b1, c11);
      c12 = a1.fma(b2, c12);
      DoubleVector a2 = DoubleVector.broadcast(SPECIES, a[atA + 2]);
      c20 = a2.fma(b0, c20);
      c21 = a2.fma(b1, c21);
      c22 = a2.fma(b2, c22);
      DoubleVector a3 = DoubleVector.broadcast(SPECIES, a[atA + 3]);
      c30 = a3.fma(b0, c30);
      c31 = a3.fma(b1, c31);
      c32 = a3.fma(b2, c32);
      DoubleVector a4 = DoubleVector.broadcast(SPECIES, a[atA + 4]);
      c40 = a4.fma(b0, c40);
      c41 = a4.fma(b1, c41);
      c42 = a4.fma(b2, c42);
      DoubleVector a5 = DoubleVector.broadcast(SPECIES, a[atA + 5]);
      c50 = a5.fma(b0, c50);
      c51 = a5.fma(b1, c51);
      c52 = a5.fma(b2, c52);
    }
    double[] part = panels.part;
    c00.add(DoubleVector.fromArray(SPECIES, part, 0)).intoArray(part, 0);
    c01.add(DoubleVector.fromArray(SPECIES, part, LANES)).intoArray(part, LANES);
    c02.add(DoubleVector.fromArray(SPECIES, part, 2 * LANES)).intoArray(part, 2 * LANES);
    c10.add(DoubleVector.fromArray(SPECIES, part, 3 * LANES)).intoArray(part, 3 * LANES);
    c11.add(DoubleVector.fromArray(SPECIES, part, 4 * LANES)).intoArray(part, 4 * LANES);
    c12.add(DoubleVector.fromArray(SPECIES, part, 5 * LANES)).intoArray(part, 5 * LANES);
    c20.add(DoubleVector.fromArray(SPECIES, part, 6 * LANES)).intoArray(part, 6 * LANES);
    c21.add(DoubleVector.fromArray(SPECIES, part, 7 * LANES)).intoArray(part, 7 * LANES);
    c22.add(DoubleVector.fromArray(SPECIES, part, 8 * LANES)).intoArray(part, 8 * LANES);
    c30.add(DoubleVector.fromArray(SPECIES, part, 9 * LANES)).intoArray(part, 9 * LANES);
    c31.add(DoubleVector.fromArray(SPECIES, part, 10 * LANES)).intoArray(part, 10 * LANES);
    c32.add(DoubleVector.fromArray(SPECIES, part, 11 * LANES)).intoArray(part, 11 * LANES);
    c40.add(DoubleVector.fromArray(SPECIES, part, 12 * LANES)).intoArray(part, 12 * LANES);
    c41.add(DoubleVector.fromArray(SPECIES, part, 13 * LANES)).intoArray(part, 13 * LANES);
    c42.add(DoubleVector.fromArray(SPECIES, part, 14 * LANES)).intoArray(part, 14 * LANES);
    c50.add(DoubleVector.fromArray(SPECIES, part, 15 * LANES)).intoArray(part, 15 * LANES);
    c51.add(DoubleVector.fromArray(SPECIES, part, 16 * LANES)).intoArray(part, 16 * LANES);
    c52.add(DoubleVector.fromArray(SPECIES, part, 17 * LANES)).intoArray(part, 17 * LANES);
  }
}
