package org.tilespark.spark.runtime;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;
import org.tilespark.kernels.device.DeviceProbe;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.spark.conf.Backend;

class ExecutorReportsTest {
  private static final String H200 = "NVIDIA H200, sm_90";

  private final ExecutorReports reports = new ExecutorReports();

  @Test
  void countsDevicesAndExecutors() {
    assertEquals("no executor has reported yet", reports.summary());
    reports.add(new ExecutorReport("0", 0, "no NVIDIA driver", 0));
    assertEquals("0 of 1 executors have a GPU (no NVIDIA driver)", reports.summary());
    reports.add(new ExecutorReport("1", 1, H200, 1000));
    assertEquals("1 of 2 executors have a GPU (" + H200 + ")", reports.summary());
    assertEquals(1, reports.devices());
    reports.add(new ExecutorReport("2", 3, H200, 900));
    assertEquals("4 GPUs in 2 of 3 executors (" + H200 + ")", reports.summary());
    assertEquals(4, reports.devices());
    reports.remove("2");
    assertEquals(1, reports.devices());
  }

  @Test
  void localModeNamesAllDevices() {
    assertEquals(
        "gpu: " + H200,
        BackendPlanner.inThisProcess(
            Backend.AUTO, Availability.of(new DeviceProbe(1, H200)), "cpu"));
    assertEquals(
        "gpu: " + H200 + ", and 3 more",
        BackendPlanner.inThisProcess(
            Backend.AUTO, Availability.of(new DeviceProbe(4, H200)), "cpu"));
  }
}
