package org.tilespark.kernels.host;

import jdk.incubator.vector.DoubleVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/** What micro-kernels of doubles on vectors share. */
abstract class DoubleVectorKernel extends DoubleKernel {
  static final VectorSpecies<Double> SPECIES = DoubleVector.SPECIES_PREFERRED;
  static final int LANES = SPECIES.length();

  /**
   * A constant, so that C2 knows its class: {@code ONE.fma(x, y)} is the sum of x and y. Where it
   * guesses classes from profiles, it guards each guess, and after 100 guards in a method
   * (PerMethodTrapLimit) makes objects of vectors: one JVM in four had kernels of half the speed.
   */
  static final DoubleVector ONE = DoubleVector.broadcast(SPECIES, 1);

  DoubleVectorKernel(int rows, int cols) {
    super(rows, cols);
  }

  @Override
  final void addGroup(DoublePanels panels, int in, int elements, int at, PackedPanels.Steps steps) {
    double[] group = panels.group;
    double[] sum = panels.sum;
    double[] error = panels.error;
    double[] sums = steps.isLast() ? group : sum;
    double[] errors = steps.isLast() ? panels.part : error;
    int to = steps.isLast() ? in : at;
    boolean hasError = steps.number() > 1;
    for (int e = 0; e < elements; e += LANES) {
      DoubleVector before = DoubleVector.fromArray(SPECIES, sum, at + e);
      DoubleVector term = DoubleVector.fromArray(SPECIES, group, in + e);
      DoubleVector after = before.add(term);
      DoubleVector termSeen = after.sub(before);
      DoubleVector lost = before.sub(after.sub(termSeen)).add(term.sub(termSeen));
      if (hasError) {
        lost = DoubleVector.fromArray(SPECIES, error, at + e).add(lost);
      }
      lost.intoArray(errors, to + e);
      after.intoArray(sums, to + e);
    }
  }

  @Override
  final void addPart(DoublePanels panels, int in, int elements) {
    double[] part = panels.part;
    double[] group = panels.group;
    for (int e = 0; e < elements; e += LANES) {
      DoubleVector before = DoubleVector.fromArray(SPECIES, group, in + e);
      ONE.fma(before, DoubleVector.fromArray(SPECIES, part, in + e)).intoArray(group, in + e);
    }
  }

  @Override
  final boolean addErrors(DoublePanels panels, int in) {
    double[] part = panels.part;
    double[] group = panels.group;
    double[] result = panels.result;
    DoubleVector zeros = DoubleVector.zero(SPECIES); // zero times infinity is NaN
    for (int e = 0; e < result.length; e += LANES) {
      DoubleVector sum = DoubleVector.fromArray(SPECIES, group, in + e);
      DoubleVector all = ONE.fma(sum, DoubleVector.fromArray(SPECIES, part, in + e));
      zeros = all.mul(0).add(zeros);
      all.intoArray(result, e);
    }
    return zeros.reduceLanes(VectorOperators.ADD) == 0;
  }
}
