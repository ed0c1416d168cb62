package org.tilespark.kernels.multiply;

import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.tilespark.kernels.launch.DeviceLimits;
import org.tilespark.kernels.launch.KernelIndex;

/** The kernels by which a device makes products, for tests that are to meet all of them. */
public final class ProductKernels {
  private ProductKernels() {}

  /**
   * M, K and N of products that take all of them, in all storages, precisions and ways: whole
   * tiles; parts of K; then a small extent of each size, in each place.
   */
  public static long[][] shapes() {
    return new long[][] {
      {256, 96, 256},
      {127, 3000, 131},
      {500, 70, 1},
      {4, 500, 300},
      {70, 300, 7},
      {10, 90, 400},
      {200, 3, 70},
      {70, 16, 200}
    };
  }

  /** Those of a jar that the planner may take, sorted. */
  public static Set<String> of(KernelIndex jar, DeviceLimits limits) {
    return jar.kernels().stream()
        .filter(kernel -> kernel.runsOn(limits.computeMajor(), limits.computeMinor()))
        .filter(kernel -> kernel.source().matches("multiply_.*|pack|repair_split"))
        .map(KernelIndex.Kernel::name)
        .collect(Collectors.toCollection(TreeSet::new));
  }
}
