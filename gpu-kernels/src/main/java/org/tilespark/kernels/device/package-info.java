/**
 * The CUDA twin: devices, streams, memory of both kinds, and {@link
 * org.tilespark.kernels.device.DeviceTransposer}, which runs plans. Start from {@link
 * org.tilespark.kernels.device.DeviceProbe}, which says whether there is anything to run on, and
 * {@link org.tilespark.kernels.device.CudaDevice}, which owns the rest.
 *
 * <p>The only package that imports {@code jcuda.*}; nothing of JCuda is visible outside it. Nothing
 * static holds a device.
 */
package org.tilespark.kernels.device;
