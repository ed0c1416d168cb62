package org.tilespark.spark.ui;

import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.tilespark.arrow.pipeline.Measure;
import org.tilespark.spark.runtime.DeviceStatus;
import org.tilespark.spark.runtime.ExchangeStatus;
import org.tilespark.spark.runtime.ExecutorStatus;
import org.tilespark.spark.runtime.HostStatus;
import org.tilespark.spark.runtime.HostStatus.Memory;
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
    Map<Measure, Long> figures = new EnumMap<>(Measure.class);
    figures.put(Measure.BLOCKS, 321L);
    figures.put(Measure.BATCHES, 12L);
    figures.put(Measure.BYTES_UP, 40_000_000_000L);
    figures.put(Measure.BYTES_DOWN, 20_000_000_000L);
    figures.put(Measure.STAGED, 7L);
    figures.put(Measure.COPY_UP, 1_000_000_000L);
    figures.put(Measure.KERNEL, 500_000_000L);
    figures.put(Measure.COPY_DOWN, 1_000_000_000L);
    figures.put(Measure.TURN, 70_000_000L);
    figures.put(Measure.MEMORY, 80_000_000L);
    figures.put(Measure.RESULT, 90_000_000L);
    figures.put(Measure.RETRIES, 6L);
    figures.put(Measure.SPLITS, 5L);
    figures.put(Measure.PEAK_DEVICE, GIB);
    figures.put(Measure.PEAK_PINNED, GIB);
    PipelineTotals.Snapshot work = new PipelineTotals.Snapshot(figures);
    return new DeviceStatus(
        0, description, 140 * GIB, 21 * GIB, 112 * GIB, 3 * GIB, 20 * GIB, work);
  }

  /** The memory that an executor keeps between tasks. */
  static ExchangeStatus exchange() {
    return new ExchangeStatus(GIB, 2 * GIB, 3 * GIB, 9 * GIB, 8 * GIB, 7 * GIB, 6 * GIB, 5 * GIB);
  }

  private static HostStatus host(long blocks) {
    return new HostStatus(
        Map.of(
            Memory.PINNED_HELD,
            1L << 20,
            Memory.PINNED_PEAK,
            GIB,
            Memory.PINNED_KEPT,
            2 * GIB,
            Memory.PINNED_POOL,
            4 * GIB,
            Memory.PLAIN_HELD,
            GIB / 2,
            Memory.PLAIN_PEAK,
            GIB * 3 / 4,
            Memory.PLAIN_KEPT,
            0L,
            Memory.PLAIN_POOL,
            GIB),
        PipelineTotals.Snapshot.of(measure -> measure == Measure.BLOCKS ? blocks : 0));
  }
}
