package org.tilespark.kernels.host;

import jdk.incubator.vector.FloatVector;

/**
 * A micro-kernel for floats on 4 rows by 2 vectors: 8 accumulators, 2 vectors of B and one of A:
 * made for 16 registers. With 10 accumulators C2 spills some, and the kernel is at least a fifth
 * slower.
 *
 * <p>C2 keeps accumulators in registers if they are local variables of one method, and if the loop
 * has no range checks, whose traps would keep the accumulators alive. C2 moves the checks out of
 * the loop if strides are powers of two.
 */
final class FloatVectors4x2 extends FloatVectorKernel {
  private static final int ROWS = 4;
  private static final int COLS = 2 * LANES;

  FloatVectors4x2() {
    super(ROWS, COLS);
  }

  @Override
  void chains(FloatPanels panels, int fromA, int fromB, int steps, int chain, int to) {
    float[] a = panels.a;
    float[] b = panels.b;
    float[] part = panels.part;
    // The index in A counts steps: arithmetic on indices would take issue slots from multiply-adds.
    int shift = fromB - fromA * (COLS / ROWS);
    for (int first = 0; first < steps; first += chain) {
      int start = fromA + first * ROWS;
      int end = fromA + Math.min(first + chain, steps) * ROWS;
      FloatVector zero = FloatVector.zero(SPECIES);
      FloatVector c00 = zero;
      FloatVector c01 = zero;
      FloatVector c10 = zero;
      FloatVector c11 = zero;
      FloatVector c20 = zero;
      FloatVector c21 = zero;
      FloatVector c30 = zero;
      FloatVector c31 = zero;
      for (int atA = start; atA < end; atA += ROWS) {
        int atB = shift + atA * (COLS / ROWS);
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
      FloatVector.fromArray(SPECIES, part, to).add(c00).intoArray(part, to);
      FloatVector.fromArray(SPECIES, part, to + LANES).add(c01).intoArray(part, to + LANES);
      FloatVector.fromArray(SPECIES, part, to + 2 * LANES).add(c10).intoArray(part, to + 2 * LANES);
      FloatVector.fromArray(SPECIES, part, to + 3 * LANES).add(c11).intoArray(part, to + 3 * LANES);
      FloatVector.fromArray(SPECIES, part, to + 4 * LANES).add(c20).intoArray(part, to + 4 * LANES);
      FloatVector.fromArray(SPECIES, part, to + 5 * LANES).add(c21).intoArray(part, to + 5 * LANES);
      FloatVector.fromArray(SPECIES, part, to + 6 * LANES).add(c30).intoArray(part, to + 6 * LANES);
      FloatVector.fromArray(SPECIES, part, to + 7 * LANES).add(c31).intoArray(part, to + 7 * LANES);
    }
  }
}
