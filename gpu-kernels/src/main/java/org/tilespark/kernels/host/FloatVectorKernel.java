package org.tilespark.kernels.host;

import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorSpecies;

/** What micro-kernels of floats on vectors share. */
abstract class FloatVectorKernel extends FloatKernel {
  static final VectorSpecies<Float> SPECIES = FloatVector.SPECIES_PREFERRED;
  static final int LANES = SPECIES.length();

  /**
   * A constant, so that C2 knows its class: {@code ONE.fma(x, y)} is the sum of x and y. Where it
   * guesses classes from profiles, it guards each guess, and after 100 guards in a method
   * (PerMethodTrapLimit) makes objects of vectors: one JVM in four had kernels of half the speed.
   */
  static final FloatVector ONE = FloatVector.broadcast(SPECIES, 1);

  FloatVectorKernel(int rows, int cols) {
    super(rows, cols);
  }

  @Override
  final void addGroup(FloatPanels panels, int at, int elements, boolean isSecond) {
    float[] group = panels.group;
    float[] sum = panels.sum;
    float[] error = panels.error;
    for (int e = 0; e < elements; e += LANES) {
      FloatVector before = FloatVector.fromArray(SPECIES, sum, at + e);
      FloatVector term = FloatVector.fromArray(SPECIES, group, e);
      FloatVector after = before.add(term);
      FloatVector termSeen = after.sub(before);
      FloatVector lost = before.sub(after.sub(termSeen)).add(term.sub(termSeen));
      if (isSecond) {
        lost.intoArray(error, at + e);
      } else {
        FloatVector.fromArray(SPECIES, error, at + e).add(lost).intoArray(error, at + e);
      }
      after.intoArray(sum, at + e);
    }
  }

  @Override
  final void addPart(FloatPanels panels, int elements) {
    float[] part = panels.part;
    float[] group = panels.group;
    for (int e = 0; e < elements; e += LANES) {
      FloatVector before = FloatVector.fromArray(SPECIES, group, e);
      ONE.fma(before, FloatVector.fromArray(SPECIES, part, e)).intoArray(group, e);
    }
  }
}
