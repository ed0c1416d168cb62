/**
 * Parts that all kernels share: the index of the kernels in this jar, the limits of a device, the
 * shape of a launch, the cache of plans. Start from {@link
 * org.tilespark.kernels.launch.KernelIndex}. Imports nothing of CUDA.
 */
package org.tilespark.kernels.launch;
