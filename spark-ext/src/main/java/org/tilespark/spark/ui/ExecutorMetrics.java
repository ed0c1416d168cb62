package org.tilespark.spark.ui;

import com.codahale.metrics.Counter;
import com.codahale.metrics.Gauge;
import com.codahale.metrics.MetricRegistry;
import java.util.function.LongSupplier;
import java.util.function.ToLongFunction;
import org.tilespark.arrow.memory.MemoryGovernor;
import org.tilespark.arrow.pipeline.Measure;
import org.tilespark.spark.runtime.ExchangeStatus;
import org.tilespark.spark.runtime.ExecutorRuntime;
import org.tilespark.spark.runtime.Gpu;
import org.tilespark.spark.runtime.HostStatus;

/**
 * What an executor gives to Spark's metrics system, and so to every sink: sums over its devices.
 * docs/metrics.md has the table.
 */
public final class ExecutorMetrics {
  private final MetricRegistry registry;
  private final ExecutorRuntime runtime;

  private ExecutorMetrics(MetricRegistry registry, ExecutorRuntime runtime) {
    this.registry = registry;
    this.runtime = runtime;
  }

  /** Registers all of them; they read {@code runtime} whenever a sink asks. */
  public static void register(MetricRegistry registry, ExecutorRuntime runtime) {
    ExecutorMetrics metrics = new ExecutorMetrics(registry, runtime);
    metrics.deviceWork();
    metrics.hostWork();
    metrics.memory();
    metrics.exchange();
  }

  private void deviceWork() {
    onDevices("gpu.blocks", Measure.BLOCKS);
    onDevices("gpu.batches", Measure.BATCHES);
    onDevices("gpu.bytesUp", Measure.BYTES_UP);
    onDevices("gpu.bytesDown", Measure.BYTES_DOWN);
    onDevices("gpu.stagedBytes", Measure.STAGED);
    onDevices("gpu.copyUpTimeNs", Measure.COPY_UP);
    onDevices("gpu.kernelTimeNs", Measure.KERNEL);
    onDevices("gpu.copyDownTimeNs", Measure.COPY_DOWN);
    onDevices("gpu.turnWaitTimeNs", Measure.TURN);
    onDevices("gpu.memoryWaitTimeNs", Measure.MEMORY);
    onDevices("gpu.resultWaitTimeNs", Measure.RESULT);
    onDevices("gpu.retries", Measure.RETRIES);
    onDevices("gpu.splits", Measure.SPLITS);
    gauge("gpu.lostDevices", () -> runtime.lostDevice().isPresent() ? 1 : 0);
  }

  private void hostWork() {
    counter("host.blocks", () -> runtime.hostWork().get(Measure.BLOCKS));
    counter("host.batches", () -> runtime.hostWork().get(Measure.BATCHES));
    counter("host.computeTimeNs", () -> runtime.hostWork().get(Measure.KERNEL));
  }

  private void memory() {
    device("gpu.deviceMemoryUsedBytes", MemoryGovernor::usedBytes);
    device("gpu.deviceMemoryPeakBytes", MemoryGovernor::peakBytes);
    device("gpu.deviceMemoryLimitBytes", MemoryGovernor::limitBytes);
    host("gpu.pinnedUsedBytes", HostStatus.Memory.PINNED_HELD);
    host("gpu.pinnedPeakBytes", HostStatus.Memory.PINNED_PEAK);
    host("gpu.pinnedKeptBytes", HostStatus.Memory.PINNED_KEPT);
    host("host.usedBytes", HostStatus.Memory.PLAIN_HELD);
    host("host.peakBytes", HostStatus.Memory.PLAIN_PEAK);
    host("host.keptBytes", HostStatus.Memory.PLAIN_KEPT);
    store("store.usedBytes", ExchangeStatus::storeHeldBytes);
    store("store.peakBytes", ExchangeStatus::storePeakBytes);
    store("store.limitBytes", ExchangeStatus::storeLimitBytes);
  }

  private void exchange() {
    exchanged("exchange.memoryBytes", ExchangeStatus::inMemoryBytes);
    exchanged("exchange.inPlaceBytes", ExchangeStatus::inPlaceBytes);
    exchanged("exchange.fileBytes", ExchangeStatus::inFilesBytes);
    exchanged("exchange.localBytesRead", ExchangeStatus::readLocallyBytes);
    exchanged("exchange.remoteBytesRead", ExchangeStatus::readRemotelyBytes);
  }

  private void onDevices(String name, Measure measure) {
    counter(name, () -> runtime.deviceWork().get(measure));
  }

  private void device(String name, ToLongFunction<MemoryGovernor> figure) {
    gauge(name, () -> runtime.gpus().stream().map(Gpu::governor).mapToLong(figure).sum());
  }

  private void host(String name, HostStatus.Memory kind) {
    gauge(name, () -> runtime.hostStatus().get(kind));
  }

  private void store(String name, ToLongFunction<ExchangeStatus> figure) {
    gauge(name, () -> figure.applyAsLong(runtime.exchangeStatus()));
  }

  private void exchanged(String name, ToLongFunction<ExchangeStatus> figure) {
    counter(name, () -> figure.applyAsLong(runtime.exchangeStatus()));
  }

  private void gauge(String name, LongSupplier value) {
    Gauge<Long> gauge = value::getAsLong;
    registry.register(name, gauge);
  }

  /** What only grows is a counter to the sinks, though it is counted elsewhere. */
  private void counter(String name, LongSupplier value) {
    registry.register(
        name,
        new Counter() {
          @Override
          public long getCount() {
            return value.getAsLong();
          }
        });
  }
}
