package org.tilespark.arrow.blocks;

import java.util.ArrayList;
import java.util.List;
import org.tilespark.kernels.pointwise.FilterPrograms;
import org.tilespark.kernels.pointwise.FilterPrograms.Taken;
import org.tilespark.layout.ElementType;

/** Filters as steps on a block, from one vector per axis. */
final class FilterSteps {
  private FilterSteps() {}

  static ElementwiseBlock window(ElementType type, boolean isComplex, List<double[]> factors) {
    Taken taken = new Taken(factors.size(), type, isComplex);
    return ElementwiseBlock.of(FilterPrograms.window(taken), factors);
  }

  /** The vectors of imaginary parts are none if the block is real. */
  static ElementwiseBlock trend(ElementType type, List<double[]> real, List<double[]> imag) {
    Taken taken = new Taken(real.size(), type, !imag.isEmpty());
    List<double[]> vectors = new ArrayList<>(real);
    vectors.addAll(imag);
    return ElementwiseBlock.of(FilterPrograms.trend(taken), vectors);
  }

  static ElementwiseBlock lowPass(
      ElementType type, boolean isComplex, List<double[]> terms, double limit) {
    Taken taken = new Taken(terms.size(), type, isComplex);
    return ElementwiseBlock.of(FilterPrograms.bandPass(taken, 0, limit), terms);
  }

  static ElementwiseBlock power(int rank, ElementType type) {
    return ElementwiseBlock.of(FilterPrograms.power(rank, type), List.of());
  }
}
