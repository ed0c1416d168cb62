package org.tilespark.spark.ui;

import com.codahale.metrics.Counter;
import com.codahale.metrics.Gauge;
import com.codahale.metrics.Metric;
import com.codahale.metrics.MetricRegistry;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToLongFunction;
import org.tilespark.arrow.memory.MemoryGovernor;
import org.tilespark.arrow.pipeline.Measure;
import org.tilespark.spark.runtime.ExchangeStatus;
import org.tilespark.spark.runtime.ExecutorRuntime;
import org.tilespark.spark.runtime.Gpu;
import org.tilespark.spark.runtime.HostStatus;

/**
 * An executor's figures in Spark's metrics system, and so in every sink: sums over its devices.
 * {@link #markdown} is docs/metrics.md.
 */
public final class ExecutorMetrics {
  private final List<Declared> declared = new ArrayList<>();

  private ExecutorMetrics() {
    deviceWork();
    hostWork();
    memory();
    exchange();
  }

  /** Registers all metrics; they read {@code runtime} whenever a sink reads them. */
  public static void register(MetricRegistry registry, ExecutorRuntime runtime) {
    for (Declared each : new ExecutorMetrics().declared) {
      registry.register(each.name, each.metric(runtime));
    }
  }

  /** The documentation page, in Markdown. */
  public static String markdown() {
    StringBuilder page =
        new StringBuilder(
            """
            # Metrics

            Generated from `ExecutorMetrics` by `dev/generate-docs`. Each executor's metrics go to
            every sink of Spark's `metrics.properties`, under
            `<application>.<executor>.plugin.org.tilespark.spark.TileSparkPlugin.<name>`; in local
            mode also to `/metrics/json/` of the web UI. With more than one device they are sums.

            | name | kind | meaning |
            |---|---|---|
            """);
    for (Declared each : new ExecutorMetrics().declared) {
      String kind = each.grows ? "counter" : "gauge";
      page.append("| `%s` | %s | %s |\n".formatted(each.name, kind, each.meaning));
    }
    return page.toString();
  }

  /** Prints {@link #markdown()}. */
  public static void main(String[] args) {
    System.out.print(markdown());
  }

  private void deviceWork() {
    onDevices("gpu.blocks", "blocks computed on devices", Measure.BLOCKS);
    onDevices("gpu.batches", "batches of those blocks", Measure.BATCHES);
    onDevices("gpu.bytesUp", "bytes copied to devices", Measure.BYTES_UP);
    onDevices("gpu.bytesDown", "bytes copied from devices", Measure.BYTES_DOWN);
    onDevices(
        "gpu.stagedBytes",
        "bytes that the CPU copied for the devices, to or from pinned memory",
        Measure.STAGED);
    onDevices("gpu.copyUpTimeNs", "device time of copies to devices", Measure.COPY_UP);
    onDevices("gpu.kernelTimeNs", "device time of kernels", Measure.KERNEL);
    onDevices("gpu.copyDownTimeNs", "device time of copies from devices", Measure.COPY_DOWN);
    onDevices("gpu.turnWaitTimeNs", "time tasks waited for `gpu.concurrentTasks`", Measure.TURN);
    onDevices("gpu.memoryWaitTimeNs", "time tasks waited for device memory", Measure.MEMORY);
    onDevices(
        "gpu.resultWaitTimeNs",
        "time tasks had nothing to do until a batch was done",
        Measure.RESULT);
    onDevices("gpu.retries", "requests for device memory that were repeated", Measure.RETRIES);
    onDevices("gpu.splits", "batches that were cut for want of device memory", Measure.SPLITS);
    gauge(
        "gpu.lostDevices",
        "1 after a CUDA error that no later call can get past",
        runtime -> runtime.lostDevice().isPresent() ? 1 : 0);
  }

  private void hostWork() {
    counter(
        "host.blocks",
        "blocks computed on the CPU, other than those of products",
        runtime -> runtime.hostWork().get(Measure.BLOCKS));
    counter(
        "host.batches",
        "batches of those blocks",
        runtime -> runtime.hostWork().get(Measure.BATCHES));
    counter(
        "host.computeTimeNs",
        "time tasks computed on the CPU",
        runtime -> runtime.hostWork().get(Measure.KERNEL));
  }

  private void memory() {
    device(
        "gpu.deviceMemoryUsedBytes",
        "device memory that tasks hold now",
        MemoryGovernor::usedBytes);
    device(
        "gpu.deviceMemoryPeakBytes",
        "most device memory that tasks ever held",
        MemoryGovernor::peakBytes);
    device(
        "gpu.deviceMemoryLimitBytes",
        "device memory that tasks may hold",
        MemoryGovernor::limitBytes);
    host("gpu.pinnedUsedBytes", "pinned Arrow buffers alive now", HostStatus.Memory.PINNED_HELD);
    host(
        "gpu.pinnedPeakBytes",
        "most pinned Arrow buffers ever alive",
        HostStatus.Memory.PINNED_PEAK);
    host(
        "gpu.pinnedKeptBytes",
        "pinned memory that is not in use; when nothing runs, at most `memory.pinnedPoolSize` and"
            + " what stores held once and hold no more",
        HostStatus.Memory.PINNED_KEPT);
    host("host.usedBytes", "plain Arrow buffers alive now", HostStatus.Memory.PLAIN_HELD);
    host("host.peakBytes", "most plain Arrow buffers ever alive", HostStatus.Memory.PLAIN_PEAK);
    host(
        "host.keptBytes",
        "plain memory kept for reuse, at most `memory.hostPoolSize` and, without a GPU, what"
            + " stores held once and hold no more",
        HostStatus.Memory.PLAIN_KEPT);
    store(
        "store.usedBytes",
        "memory in which blocks are kept beyond their tasks, now",
        ExchangeStatus::storeHeldBytes);
    store("store.peakBytes", "most memory that stores ever used", ExchangeStatus::storePeakBytes);
    store("store.limitBytes", "`memory.storeSize`", ExchangeStatus::storeLimitBytes);
  }

  private void exchange() {
    exchanged(
        "exchange.memoryBytes",
        "bytes of map outputs that were kept in memory",
        ExchangeStatus::inMemoryBytes);
    exchanged(
        "exchange.inPlaceBytes",
        "bytes of map outputs that were made where they are kept, without a copy",
        ExchangeStatus::inPlaceBytes);
    exchanged(
        "exchange.fileBytes",
        "bytes of map outputs that were written to files, at once or to make room",
        ExchangeStatus::inFilesBytes);
    exchanged(
        "exchange.localBytesRead",
        "bytes that tasks read from outputs of this executor",
        ExchangeStatus::readLocallyBytes);
    exchanged(
        "exchange.remoteBytesRead",
        "bytes that tasks fetched from other executors",
        ExchangeStatus::readRemotelyBytes);
  }

  private void onDevices(String name, String meaning, Measure measure) {
    counter(name, meaning, runtime -> runtime.deviceWork().get(measure));
  }

  private void device(String name, String meaning, ToLongFunction<MemoryGovernor> figure) {
    gauge(
        name,
        meaning,
        runtime -> runtime.gpus().stream().map(Gpu::governor).mapToLong(figure).sum());
  }

  private void host(String name, String meaning, HostStatus.Memory kind) {
    gauge(name, meaning, runtime -> runtime.hostStatus().get(kind));
  }

  private void store(String name, String meaning, ToLongFunction<ExchangeStatus> figure) {
    gauge(name, meaning, runtime -> figure.applyAsLong(runtime.exchangeStatus()));
  }

  private void exchanged(String name, String meaning, ToLongFunction<ExchangeStatus> figure) {
    counter(name, meaning, runtime -> figure.applyAsLong(runtime.exchangeStatus()));
  }

  private void gauge(String name, String meaning, ToLongFunction<ExecutorRuntime> value) {
    declared.add(new Declared(name, false, meaning, value));
  }

  private void counter(String name, String meaning, ToLongFunction<ExecutorRuntime> value) {
    declared.add(new Declared(name, true, meaning, value));
  }

  /** A metric: a counter if its value only grows, else a gauge. */
  private record Declared(
      String name, boolean grows, String meaning, ToLongFunction<ExecutorRuntime> value) {
    /** Reads {@code runtime} for the sinks; growing values are counters to them. */
    Metric metric(ExecutorRuntime runtime) {
      if (!grows) {
        Gauge<Long> gauge = () -> value.applyAsLong(runtime);
        return gauge;
      }
      return new Counter() {
        @Override
        public long getCount() {
          return value.applyAsLong(runtime);
        }
      };
    }
  }
}
