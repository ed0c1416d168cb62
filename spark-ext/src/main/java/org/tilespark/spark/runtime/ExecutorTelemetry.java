package org.tilespark.spark.runtime;

import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentSkipListMap;
import org.tilespark.kernels.device.CudaDevice;
import org.tilespark.kernels.device.CudaDevice.MemoryInfo;
import org.tilespark.kernels.device.CudaFailure;

/** Totals of the tasks of one executor, on each device and on the CPU. Thread-safe. */
final class ExecutorTelemetry {
  private final PipelineTotals host = new PipelineTotals();
  private final ExchangeTotals exchange = new ExchangeTotals();
  private final Map<Integer, PipelineTotals> devices = new ConcurrentSkipListMap<>();

  /** The totals to which tasks on {@code gpu}, or on the CPU, report. */
  PipelineTotals totals(Optional<Gpu> gpu) {
    return gpu.map(this::totals).orElse(host);
  }

  private PipelineTotals totals(Gpu gpu) {
    return devices.computeIfAbsent(gpu.device().ordinal(), key -> new PipelineTotals());
  }

  /** Totals of the tasks on all devices together. */
  PipelineTotals.Snapshot deviceWork() {
    return devices.values().stream()
        .map(PipelineTotals::snapshot)
        .reduce(PipelineTotals.Snapshot.ZERO, PipelineTotals.Snapshot::plus);
  }

  /** Totals of the tasks on the CPU. */
  PipelineTotals.Snapshot hostWork() {
    return host.snapshot();
  }

  /** The totals to which exchanges in memory report. */
  ExchangeTotals exchange() {
    return exchange;
  }

  /**
   * The current status of a device.
   *
   * @param lost true if the device is lost and cannot be queried
   */
  DeviceStatus status(Gpu gpu, boolean lost) {
    return new DeviceStatus(
        gpu.device().ordinal(),
        gpu.device().description(),
        gpu.totalBytes(),
        lost ? -1 : inUseBytes(gpu.device()),
        gpu.governor().limitBytes(),
        gpu.governor().usedBytes(),
        gpu.governor().peakBytes(),
        totals(gpu).snapshot());
  }

  private static long inUseBytes(CudaDevice device) {
    try {
      MemoryInfo memory = device.memoryInfo();
      return memory.totalBytes() - memory.freeBytes();
    } catch (CudaFailure e) { // a task will meet this failure too, and report it
      return -1;
    }
  }
}
