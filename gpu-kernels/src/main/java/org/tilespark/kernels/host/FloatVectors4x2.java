package org.tilespark.kernels.host;

import jdk.incubator.vector.FloatVector;

/**
 * A micro-kernel for floats on 4 rows by 2 vectors: 8 accumulators, 2 vectors of B and one of A:
 * for 16 registers. With 10 accumulators C2 spills some, and is a fifth slower at least.
 *
 * <p>C2 keeps accumulators in registers if they are local variables of one method, and if the loop
 * has no range checks, whose traps would need them: it moves checks out of the loop where strides
 * are powers of two.
 */
final class FloatVectors4x2 extends FloatVectorKernel {
  private static final int ROWS = 4;
  private static final int COLS = 2 * LANES;

  FloatVectors4x2() {
    super(ROWS, COLS);
  }

  @Override
  void chain(FloatPanels panels, int fromA, int fromB, int steps) {
    float[] a = panels.a;
    float[] b = panels.b;
    FloatVector c00 = FloatVector.zero(SPECIES);
    FloatVector c01 = FloatVector.zero(SPECIES);
    FloatVector c10 = FloatVector.zero(SPECIES);
    FloatVector c11 = FloatVector.zero(SPECIES);
    FloatVector c20 = FloatVector.zero(SPECIES);
    FloatVector c21 = FloatVector.zero(SPECIES);
    FloatVector c30 = FloatVector.zero(SPECIES);
    FloatVector c31 = FloatVector.zero(SPECIES);
    for (int p = 0; p < steps; p++) {
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
    }
    float[] part = panels.part;
    c00.add(FloatVector.fromArray(SPECIES, part, 0)).intoArray(part, 0);
    c01.add(FloatVector.fromArray(SPECIES, part, LANES)).intoArray(part, LANES);
    c10.add(FloatVector.fromArray(SPECIES, part, 2 * LANES)).intoArray(part, 2 * LANES);
    c11.add(FloatVector.fromArray(SPECIES, part, 3 * LANES)).intoArray(part, 3 * LANES);
    c20.add(FloatVector.fromArray(SPECIES, part, 4 * LANES)).intoArray(part, 4 * LANES);
    c21.add(FloatVector.fromArray(SPECIES, part, 5 * LANES)).intoArray(part, 5 * LANES);
    c30.add(FloatVector.fromArray(SPECIES, part, 6 * LANES)).intoArray(part, 6 * LANES);
    c31.add(FloatVector.fromArray(SPECIES, part, 7 * LANES)).intoArray(part, 7 * LANES);
  }
}
