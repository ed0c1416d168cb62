/**
 * Kernels on a CUDA device, each the twin of a class of {@code kernels.host}, with devices,
 * streams, device memory and pinned memory. Start from {@link
 * org.tilespark.kernels.device.DeviceProbe}, which says whether there is a device, and {@link
 * org.tilespark.kernels.device.CudaDevice}, which owns the rest. Only this package and those below
 * it import {@code jcuda.*}; nothing of JCuda is visible outside. Nothing static holds a device.
 */
package org.tilespark.kernels.device;
