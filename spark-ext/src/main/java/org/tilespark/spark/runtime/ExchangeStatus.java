package org.tilespark.spark.runtime;

import java.io.Serializable;

/**
 * The memory in which an executor keeps blocks beyond their tasks, and what went through exchanges
 * in memory since the executor began. All in bytes.
 *
 * @param storeHeldBytes kept now, cached blocks included
 * @param storePeakBytes the most that were ever kept
 * @param storeLimitBytes {@code memory.storeSize}
 * @param inMemoryBytes bytes of map outputs that were kept in memory
 * @param inPlaceBytes bytes of map outputs that were made where they are kept, so that nobody
 *     copied them
 * @param inFilesBytes bytes of map outputs that were written to files, at once or to make room
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
