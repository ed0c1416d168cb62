package org.tilespark.kernels.host;

import jdk.incubator.vector.DoubleVector;
import jdk.incubator.vector.VectorSpecies;

/** What micro-kernels of doubles on vectors share. */
abstract class DoubleVectorKernel extends DoubleKernel {
  static final VectorSpecies<Double> SPECIES = DoubleVector.SPECIES_PREFERRED;
  static final int LANES = SPECIES.length();

  DoubleVectorKernel(int rows, int cols) {
    super(rows, cols);
  }

  @Override
  final void addPart(DoublePanels panels, int at) {
    double[] part = panels.part;
    double[] sum = panels.sum;
    double[] error = panels.error;
    for (int e = 0; e < part.length; e += LANES) {
      DoubleVector before = DoubleVector.fromArray(SPECIES, sum, at + e);
      DoubleVector term = DoubleVector.fromArray(SPECIES, part, e);
      DoubleVector after = before.add(term);
      DoubleVector termSeen = after.sub(before);
      DoubleVector lost = before.sub(after.sub(termSeen)).add(term.sub(termSeen));
      DoubleVector.fromArray(SPECIES, error, at + e).add(lost).intoArray(error, at + e);
      after.intoArray(sum, at + e);
    }
  }
}
