package org.tilespark.kernels.host;

import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/** Common part of the micro-kernels for floats on vectors. */
abstract class FloatVectorKernel extends FloatKernel {
  static final VectorSpecies<Float> SPECIES = FloatVector.SPECIES_PREFERRED;
  static final int LANES = SPECIES.length();

  /**
   * A vector of ones: {@code ONE.fma(x, y)} is the sum of x and y. It is a constant so that C2
   * knows its class. Otherwise C2 guesses classes from profiles and guards each guess, and after
   * 100 guards in a method (PerMethodTrapLimit) it allocates vectors as objects: in one JVM of
   * four, kernels ran at half the speed.
   */
  static final FloatVector ONE = FloatVector.broadcast(SPECIES, 1);

  FloatVectorKernel(int rows, int cols) {
    super(rows, cols);
  }

  @Override
  final void addGroup(FloatPanels panels, int in, int elements, int at, PackedPanels.Steps steps) {
    float[] group = panels.group;
    float[] sum = panels.sum;
    float[] error = panels.error;
    float[] sums = steps.isLast() ? group : sum;
    float[] errors = steps.isLast() ? panels.part : error;
    int to = steps.isLast() ? in : at;
    boolean hasError = steps.number() > 1;
    for (int e = 0; e < elements; e += LANES) {
      FloatVector before = FloatVector.fromArray(SPECIES, sum, at + e);
      FloatVector term = FloatVector.fromArray(SPECIES, group, in + e);
      FloatVector after = before.add(term);
      FloatVector termSeen = after.sub(before);
      FloatVector lost = before.sub(after.sub(termSeen)).add(term.sub(termSeen));
      if (hasError) {
        lost = FloatVector.fromArray(SPECIES, error, at + e).add(lost);
      }
      lost.intoArray(errors, to + e);
      after.intoArray(sums, to + e);
    }
  }

  @Override
  final void addPart(FloatPanels panels, int in, int elements) {
    float[] part = panels.part;
    float[] group = panels.group;
    for (int e = 0; e < elements; e += LANES) {
      FloatVector before = FloatVector.fromArray(SPECIES, group, in + e);
      ONE.fma(before, FloatVector.fromArray(SPECIES, part, in + e)).intoArray(group, in + e);
    }
  }

  @Override
  final boolean addErrors(FloatPanels panels, int in) {
    float[] part = panels.part;
    float[] group = panels.group;
    float[] result = panels.result;
    FloatVector zeros = FloatVector.zero(SPECIES); // zero times infinity is NaN
    for (int e = 0; e < result.length; e += LANES) {
      FloatVector sum = FloatVector.fromArray(SPECIES, group, in + e);
      FloatVector all = ONE.fma(sum, FloatVector.fromArray(SPECIES, part, in + e));
      zeros = all.mul(0).add(zeros);
      all.intoArray(result, e);
    }
    return zeros.reduceLanes(VectorOperators.ADD) == 0;
  }
}
