package org.tilespark.kernels.device;

/**
 * Device memory as the driver sees it, over all processes.
 *
 * @param freeBytes unused; memory that our pool holds for reuse does not count as free
 * @param totalBytes all of the device's memory
 */
public record MemoryInfo(long freeBytes, long totalBytes) {}
