package org.tilespark.spark.runtime;

import java.io.Serializable;

/**
 * The memory in which an executor keeps blocks beyond their tasks, and the traffic of exchanges in
 * memory since the executor started, all in bytes.
 *
 * @param storeHeldBytes bytes that are kept now, including cached blocks
 * @param storePeakBytes most bytes that were ever kept
 * @param storeLimitBytes limit of kept bytes, {@code memory.storeSize}
 * @param inMemoryBytes bytes of map outputs that were kept in memory
 * @param inPlaceBytes bytes of map outputs that were written directly to their memory, without a
 *     copy
 * @param inFilesBytes bytes of map outputs that were written to files, immediately or to make room
 * @param readLocallyBytes bytes that tasks read from outputs of this executor
 * @param readRemotelyBytes bytes that tasks fetched from other executors
 */
public record ExchangeStatus(
    long storeHeldBytes,
    long storePeakBytes,
    long storeLimitBytes,
    long inMemoryBytes,
    long inPlaceBytes,
    long inFilesBytes,
    long readLocallyBytes,
    long readRemotelyBytes)
    implements Serializable {}
