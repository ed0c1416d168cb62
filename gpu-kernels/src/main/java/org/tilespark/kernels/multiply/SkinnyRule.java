package org.tilespark.kernels.multiply;

import java.util.Optional;
import org.tilespark.kernels.launch.DeviceKernels;
import org.tilespark.layout.ElementType;

/**
 * Chooses the products for the kernels for one small extent ({@link SkinnySteps}) where nothing was
 * measured. Pure functions.
 */
final class SkinnyRule {
  /**
   * Elements of the largest matrix from which a product with a small extent is the skinny kernels':
   * below, a launch takes as long as the work, and a tiled one is one launch.
   */
  static final double LEAST_ELEMENTS = 256.0 * 256;

  /**
   * Minimum elements for lower precisions, which compete with tensor-core tiles: 300 x 300 x 5 took
   * 1.2 to 1.6 times as long by the skinny kernel, 500 x 500 x 8 0.7 times, on an H200.
   */
  private static final double NARROW_ELEMENTS = 448.0 * 448;

  /**
   * Minimum elements of each product's largest matrix in a batch. The skinny kernels need one
   * launch per product, a tiled kernel one for all. The value is about what one launch time reads
   * (estimate).
   */
  static final double BATCH_ELEMENTS = 2048.0 * 1024;

  /**
   * Columns of DOUBLE, or rows, up to which these are about as fast as cuBLAS in one call or faster
   * (docs/benchmarks/earlier); of FLOAT they are up to all 16.
   */
  private static final long MOST_DOUBLES = 8;

  private SkinnyRule() {}

  /** The skinny kernel for a problem that is large enough for it. */
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

  /** True if a skinny kernel is expected to be faster than cuBLAS, or hardly slower. */
  static boolean isFaster(MultiplyProblem problem, DeviceKernels device) {
    return (problem.type() == ElementType.FLOAT32
            || (SkinnySteps.isShallow(problem)
                // A step of K of a B like this is K elements from the next column's.
                ? !problem.b().transposed()
                : SkinnySteps.count(problem) <= MOST_DOUBLES))
        && of(problem, device).isPresent();
  }
}
