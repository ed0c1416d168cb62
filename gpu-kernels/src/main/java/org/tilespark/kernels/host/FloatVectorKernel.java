package org.tilespark.kernels.host;

import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorSpecies;

/** What micro-kernels of floats on vectors share. */
abstract class FloatVectorKernel extends FloatKernel {
  static final VectorSpecies<Float> SPECIES = FloatVector.SPECIES_PREFERRED;
  static final int LANES = SPECIES.length();

  FloatVectorKernel(int rows, int cols) {
    super(rows, cols);
  }

  @Override
  final void addPart(FloatPanels panels, int at) {
    float[] part = panels.part;
    float[] sum = panels.sum;
    float[] error = panels.error;
    for (int e = 0; e < part.length; e += LANES) {
      FloatVector before = FloatVector.fromArray(SPECIES, sum, at + e);
      FloatVector term = FloatVector.fromArray(SPECIES, part, e);
      FloatVector after = before.add(term);
      FloatVector termSeen = after.sub(before);
      FloatVector lost = before.sub(after.sub(termSeen)).add(term.sub(termSeen));
      FloatVector.fromArray(SPECIES, error, at + e).add(lost).intoArray(error, at + e);
      after.intoArray(sum, at + e);
    }
  }
}
