package org.tilespark.spark.ui;

import java.util.List;
import org.tilespark.spark.runtime.DeviceStatus;
import org.tilespark.spark.runtime.ExchangeStatus;
import org.tilespark.spark.runtime.ExecutorStatus;
import org.tilespark.spark.runtime.HostStatus;
import org.tilespark.spark.runtime.PipelineTotals;

/** Hand-made status of executors. */
final class StatusSamples {
  private static final long GIB = 1L << 30;

  private StatusSamples() {}

  /** With one device of this description, which worked. */
  static ExecutorStatus onDevice(String id, String description) {
    return new ExecutorStatus(id, "", "", List.of(device(description)), host(0), exchange());
  }

  /** Without a device, for this reason. */
  static ExecutorStatus onCpu(String id, String reason) {
    return new ExecutorStatus(id, reason, "", List.of(), host(17), exchange());
  }

  /** That lost its device. */
  static ExecutorStatus lost(String id, String failure) {
    return new ExecutorStatus(
        id,
        "it was lost: " + failure,
        failure,
        List.of(device("NVIDIA H200")),
        host(0),
        exchange());
  }

  /** 40 GB up in 1 s, 20 GB down in 1 s, half a second of kernels. */
  private static DeviceStatus device(String description) {
    PipelineTotals.Snapshot work =
        new PipelineTotals.Snapshot(
            321,
            12,
            40_000_000_000L,
            20_000_000_000L,
            1_000_000_000,
            500_000_000,
            1_000_000_000,
            70_000_000,
            80_000_000,
            90_000_000,
            6,
            5,
            GIB,
            GIB);
    return new DeviceStatus(
        0, description, 140 * GIB, 21 * GIB, 112 * GIB, 3 * GIB, 20 * GIB, work);
  }

  /** What an executor keeps between tasks. */
  static ExchangeStatus exchange() {
    return new ExchangeStatus(GIB, 2 * GIB, 3 * GIB, 5 << 20, 4 << 20, 3 << 10, 2 << 10, 1 << 10);
  }

  private static HostStatus host(long blocks) {
    PipelineTotals totals = new PipelineTotals();
    for (long i = 0; i < blocks; i++) {
      totals.handedOut(1);
    }
    return new HostStatus(
        1 << 20, GIB, 2 * GIB, 4 * GIB, 1 << 10, 1 << 21, 0, GIB, totals.snapshot());
  }
}
