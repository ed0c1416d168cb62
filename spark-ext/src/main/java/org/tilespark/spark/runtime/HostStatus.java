package org.tilespark.spark.runtime;

import java.io.Serializable;

/**
 * An executor's host memory outside the Java heap, and what it computed on the CPU. Bytes of Arrow
 * buffers, but for those kept, which are free blocks of memory.
 *
 * @param pinnedHeldBytes pinned, alive now
 * @param pinnedPeakBytes pinned, most ever alive
 * @param pinnedKeptBytes pinned, kept for reuse
 * @param pinnedPoolBytes {@code memory.pinnedPoolSize}; what stores held once is kept beside it
 * @param plainHeldBytes plain, alive now
 * @param plainPeakBytes plain, most ever alive
 * @param plainKeptBytes plain, kept for reuse
 * @param plainPoolBytes {@code memory.hostPoolSize}; without a device, what stores held once is
 *     kept too
 * @param work what was computed on the CPU
 */
public record HostStatus(
    long pinnedHeldBytes,
    long pinnedPeakBytes,
    long pinnedKeptBytes,
    long pinnedPoolBytes,
    long plainHeldBytes,
    long plainPeakBytes,
    long plainKeptBytes,
    long plainPoolBytes,
    PipelineTotals.Snapshot work)
    implements Serializable {}
