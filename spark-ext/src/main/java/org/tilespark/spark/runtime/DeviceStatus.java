package org.tilespark.spark.runtime;

import java.io.Serializable;

/**
 * One device of an executor at one time. All bytes are of device memory.
 *
 * @param ordinal number of the device, in the executor's numbering
 * @param description name, architecture and driver
 * @param totalBytes all memory of the device
 * @param inUseBytes bytes in use by all processes and the driver; -1 if unknown, for example after
 *     the device was lost
 * @param limitBytes most bytes that this executor's tasks may hold together
 * @param heldBytes bytes that these tasks hold now
 * @param peakBytes most bytes that these tasks ever held
 * @param work work of the tasks on the device
 */
public record DeviceStatus(
    int ordinal,
    String description,
    long totalBytes,
    long inUseBytes,
    long limitBytes,
    long heldBytes,
    long peakBytes,
    PipelineTotals.Snapshot work)
    implements Serializable {}
