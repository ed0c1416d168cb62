package org.tilespark.spark.runtime;

import java.io.Serializable;

/**
 * Resources of an executor, as it reports them to the driver when it starts.
 *
 * @param executorId Spark's id of the executor
 * @param devices number of GPUs that the executor can use
 * @param description the first device and its driver, or why there is none
 * @param deviceBytes memory of one device that all its tasks together may hold; 0 without a device
 */
public record ExecutorReport(String executorId, int devices, String description, long deviceBytes)
    implements Serializable {
  /** True if the executor can use a GPU. */
  boolean hasGpu() {
    return devices > 0;
  }
}
