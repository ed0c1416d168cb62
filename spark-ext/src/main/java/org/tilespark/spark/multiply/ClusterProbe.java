package org.tilespark.spark.multiply;

import org.apache.spark.SparkContext;
import org.tilespark.kernels.device.DeviceProbe;
import org.tilespark.kernels.host.HostProfile;
import org.tilespark.spark.block.Bytes;
import org.tilespark.spark.conf.Backend;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.exchange.Exchange;
import org.tilespark.spark.multiply.cost.ClusterResources;
import org.tilespark.spark.multiply.cost.ClusterSize;
import org.tilespark.spark.runtime.BackendChoice;
import org.tilespark.spark.runtime.BroadcastLimit;
import org.tilespark.spark.runtime.ExecutorReports;
import org.tilespark.spark.runtime.ExecutorRuntime;

/**
 * Finds the {@link ClusterResources} of one multiply from the configuration and what executors have
 * reported.
 */
record ClusterProbe(SparkContext context, MultiplySpec spec, BackendChoice backend) {
  /** Most bytes of a pair of panels, in batches ({@link TileSparkConf#BATCH_SIZE}). */
  static final long BATCHES = 4;

  ClusterResources find() {
    long batch = TileSparkConf.BATCH_SIZE.read(TileSparkConf.session());
    long panels = 2 * BATCHES * batch;
    int cores = Math.max(1, context.defaultParallelism());
    int executors =
        Math.max(
            1, context.statusTracker().getExecutorInfos().length - (context.isLocal() ? 0 : 1));
    int turns = TileSparkConf.CONCURRENT_TASKS.read(TileSparkConf.application(context.getConf()));
    int devices = devices();
    long tile =
        TileBudget.bytes(
            TileSparkConf.MULTIPLY_TILE_SIZE.read(TileSparkConf.session()),
            batch,
            devices == 0 ? 0 : deviceBytes(),
            Math.min(turns, Math.max(1, cores / executors)));
    return new ClusterResources(
        new ClusterSize(cores, executors, devices),
        // A batch of matrices is distributed to tasks matrix by matrix, and their number is
        // unknown.
        spec.groups() > 0 ? 1 : cores,
        tile + panels,
        tile + panels,
        tile,
        broadcastBytes(),
        executors > 1 || devices != 1 ? 0 : sharedBytes(Math.min(turns, cores), tile, 2 * batch),
        ClusterResources.Rates.of(Exchange.isInMemory(context), HostProfile.current()));
  }

  /**
   * Device memory that is left for shared panels if there is one executor with one device; {@link
   * Long#MAX_VALUE} if no executor has reported its memory.
   *
   * @param tasks number of concurrent tasks
   * @param tile most bytes of a tile
   * @param panels bytes of one task's panels
   */
  private long sharedBytes(int tasks, long tile, long panels) {
    long all = deviceBytes();
    if (all == 0) {
      return Long.MAX_VALUE;
    }
    long result = Bytes.product(Math.max(1, spec.m()), Math.max(1, spec.n()), spec.type().bytes());
    long held =
        Bytes.sum(Math.min(Bytes.product(tasks, tile), result), Bytes.product(tasks, panels));
    return Math.max(0, all / 4 * 3 - held);
  }

  private long broadcastBytes() {
    return Math.min(Math.min(spec.m(), spec.k()), spec.n()) == 0
        ? 0
        : BroadcastLimit.bytes(context);
  }

  /** Bytes of a device that all tasks together may hold; 0 if no executor has reported them. */
  private long deviceBytes() {
    return context.isLocal()
        ? ExecutorRuntime.current().deviceBytes()
        : ExecutorReports.current().map(ExecutorReports::deviceBytes).orElse(0L);
  }

  private int devices() {
    if (backend.requested() == Backend.CPU) {
      return 0;
    }
    if (context.isLocal()) {
      return DeviceProbe.deviceCount(); // 0 if none is available
    }
    return ExecutorReports.current().map(ExecutorReports::devices).orElse(0);
  }
}
