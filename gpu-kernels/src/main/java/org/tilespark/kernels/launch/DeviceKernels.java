package org.tilespark.kernels.launch;

import java.util.List;
import java.util.Optional;

/**
 * The kernels of an index that one device can run.
 *
 * @param limits limits of the device
 * @param index the kernels of a jar
 */
public record DeviceKernels(DeviceLimits limits, KernelIndex index) {
  /** The first kernel of a family and element width that the device can run. */
  public Optional<KernelIndex.Kernel> find(String family, int elementBytes) {
    return index.find(family, elementBytes, limits);
  }

  /**
   * The kernels of a family and element width that the device can run, in the order of the index.
   */
  public List<KernelIndex.Kernel> findAll(String family, int elementBytes) {
    return index.findAll(family, elementBytes, limits);
  }
}
