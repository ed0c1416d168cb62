package org.tilespark.kernels.multiply;

import java.util.Optional;
import org.tilespark.kernels.launch.DeviceKernels;
import org.tilespark.layout.ElementType;

/**
 * Decides by rule which products use the kernels for one small extent ({@link SkinnySteps}) if
 * their class was not measured. Pure functions.
 */
final class SkinnyRule {
  /**
   * The least number of elements of the largest matrix for which the skinny kernels are used.
   * Below, a launch takes as long as the work, and the tiled kernel needs only one launch.
   */
  static final double LEAST_ELEMENTS = 256.0 * 256;

  /**
   * The least number of elements likewise for lower precisions, where the skinny kernels compete
   * with tensor-core tiles: on an H200, with the skinny kernel 300 x 300 x 5 took 1.2 to 1.6 times
   * as long, and 500 x 500 x 8 took 0.7 times as long.
   */
  private static final double NARROW_ELEMENTS = 448.0 * 448;

  /**
   * The least number of elements of each product's largest matrix in a batch, likewise. The skinny
   * kernels need one launch per product, a tiled kernel one for all. The value is about what is
   * read in the time of a launch (estimate).
   */
  static final double BATCH_ELEMENTS = 2048.0 * 1024;

  /**
   * The largest number of columns, or rows, of C of type DOUBLE for which the skinny kernels are
   * about as fast as one call of cuBLAS, or faster (docs/benchmarks/earlier). For FLOAT this holds
   * for all 16.
   */
  private static final long MOST_DOUBLES = 8;

  private SkinnyRule() {}

  /**
   * The strategy with a skinny kernel for a problem that is large enough for it; otherwise empty.
   */
  static Optional<MultiplyStrategy.Skinny> of(MultiplyProblem problem, DeviceKernels device) {
    double m = problem.m();
    double largest = Math.max(m * problem.n(), Math.max(m, (double) problem.n()) * problem.k());
    double one = problem.precision() == Precision.FULL ? LEAST_ELEMENTS : NARROW_ELEMENTS;
    return largest < (problem.batch().count() == 1 ? one : BATCH_ELEMENTS)
        ? Optional.empty()
        : SkinnySteps.of(problem, device)
            .filter(
                skinny ->
                    !SkinnySteps.isShallow(problem)
                        || SkinnySteps.tiles(problem, skinny.kernel().shape())
                            >= device.limits().multiprocessors());
  }

  /** True if a skinny kernel is expected to be faster than cuBLAS, or only slightly slower. */
  static boolean isFaster(MultiplyProblem problem, DeviceKernels device) {
    return (problem.type() == ElementType.FLOAT32
            || (SkinnySteps.isShallow(problem)
                // In a transposed B, neighbouring columns are K elements apart in memory.
                ? !problem.b().transposed()
                : SkinnySteps.count(problem) <= MOST_DOUBLES))
        && of(problem, device).isPresent();
  }
}
