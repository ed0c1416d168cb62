/**
 * Reordering the axes of dense arrays: one interface, {@link org.tilespark.kernels.Transposer}, and
 * its twins. Start from {@link org.tilespark.kernels.HostTransposer}; the device twin lives in
 * {@code org.tilespark.kernels.device}.
 *
 * <p>Depends on {@code org.tilespark.layout} and {@code org.tilespark.kernels.plan}; knows neither
 * Arrow nor Spark nor CUDA.
 */
package org.tilespark.kernels;
