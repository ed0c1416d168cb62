package org.tilespark.spark.runtime;

import java.io.Serializable;
import java.util.List;

/**
 * The state of an executor at one time; it is sent to the driver.
 *
 * @param executorId Spark's id of the executor
 * @param cpuReason why tasks compute on the CPU there; empty if none did
 * @param lostDevice the CUDA error by which it lost its device; empty if it did not
 * @param devices devices that it opened
 * @param host its host memory
 * @param exchange memory that it keeps between tasks
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
