package org.tilespark.spark.planner;

import java.io.Serializable;

/**
 * What an executor has, as it tells the driver when it starts.
 *
 * @param executorId Spark's id of the executor
 * @param hasGpu true if it can use a GPU
 * @param description the device and driver, or why there is none
 */
public record ExecutorReport(String executorId, boolean hasGpu, String description)
    implements Serializable {}
