package org.tilespark.spark.runtime;

import java.io.Serializable;
import java.util.List;

/**
 * The state of an executor at one time; it is sent to the driver.
 *
 * @param executorId Spark's id of the executor
 * @param cpuReason reason why the executor's tasks compute on the CPU, or would; empty if there is
 *     none
 * @param lostDevice CUDA error by which the executor lost its device; empty if it did not
 * @param devices status of each device that the executor opened
 * @param host status of the executor's host memory
 * @param exchange status of the memory that the executor keeps between tasks
 */
public record ExecutorStatus(
    String executorId,
    String cpuReason,
    String lostDevice,
    List<DeviceStatus> devices,
    HostStatus host,
    ExchangeStatus exchange)
    implements Serializable {
  public ExecutorStatus {
    devices = List.copyOf(devices);
  }
}
