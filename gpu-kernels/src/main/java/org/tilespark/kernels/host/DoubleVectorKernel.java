package org.tilespark.kernels.host;

import jdk.incubator.vector.DoubleVector;
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
  final void addGroup(DoublePanels panels, int at, int elements, boolean isSecond) {
    double[] group = panels.group;
    double[] sum = panels.sum;
    double[] error = panels.error;
    for (int e = 0; e < elements; e += LANES) {
      DoubleVector before = DoubleVector.fromArray(SPECIES, sum, at + e);
      DoubleVector term = DoubleVector.fromArray(SPECIES, group, e);
      DoubleVector after = before.add(term);
      DoubleVector termSeen = after.sub(before);
      DoubleVector lost = before.sub(after.sub(termSeen)).add(term.sub(termSeen));
      if (isSecond) {
        lost.intoArray(error, at + e);
      } else {
        DoubleVector.fromArray(SPECIES, error, at + e).add(lost).intoArray(error, at + e);
      }
      after.intoArray(sum, at + e);
    }
  }

  @Override
  final void addPart(DoublePanels panels, int elements) {
    double[] part = panels.part;
    double[] group = panels.group;
    for (int e = 0; e < elements; e += LANES) {
      DoubleVector before = DoubleVector.fromArray(SPECIES, group, e);
      ONE.fma(before, DoubleVector.fromArray(SPECIES, part, e)).intoArray(group, e);
    }
  }
}
