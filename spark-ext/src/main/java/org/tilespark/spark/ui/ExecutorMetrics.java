package org.tilespark.spark.ui;

import com.codahale.metrics.Counter;
import com.codahale.metrics.Gauge;
import com.codahale.metrics.MetricRegistry;
import java.util.function.LongSupplier;
import java.util.function.ToLongFunction;
import org.tilespark.arrow.memory.MemoryGovernor;
import org.tilespark.spark.runtime.ExchangeStatus;
import org.tilespark.spark.runtime.ExecutorRuntime;
import org.tilespark.spark.runtime.Gpu;
import org.tilespark.spark.runtime.HostStatus;
import org.tilespark.spark.runtime.PipelineTotals;

/**
 * What an executor gives to Spark's metrics system, and so to every sink: sums over its devices.
 * docs/monitoring.md has the table.
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
    onDevices("gpu.blocks", PipelineTotals.Snapshot::blocks);
    onDevices("gpu.batches", PipelineTotals.Snapshot::batches);
    onDevices("gpu.bytesUp", PipelineTotals.Snapshot::bytesUp);
    onDevices("gpu.bytesDown", PipelineTotals.Snapshot::bytesDown);
    onDevices("gpu.copyUpTimeNs", PipelineTotals.Snapshot::copyUpNanos);
    onDevices("gpu.kernelTimeNs", PipelineTotals.Snapshot::kernelNanos);
    onDevices("gpu.copyDownTimeNs", PipelineTotals.Snapshot::copyDownNanos);
    onDevices("gpu.turnWaitTimeNs", PipelineTotals.Snapshot::turnNanos);
    onDevices("gpu.memoryWaitTimeNs", PipelineTotals.Snapshot::memoryNanos);
    onDevices("gpu.resultWaitTimeNs", PipelineTotals.Snapshot::resultNanos);
    onDevices("gpu.retries", PipelineTotals.Snapshot::retries);
    onDevices("gpu.splits", PipelineTotals.Snapshot::splits);
    gauge("gpu.lostDevices", () -> runtime.lostDevice().isPresent() ? 1 : 0);
  }

  private void hostWork() {
    counter("host.blocks", () -> runtime.hostWork().blocks());
    counter("host.batches", () -> runtime.hostWork().batches());
    counter("host.computeTimeNs", () -> runtime.hostWork().kernelNanos());
  }

  private void memory() {
    device("gpu.deviceMemoryUsedBytes", MemoryGovernor::usedBytes);
    device("gpu.deviceMemoryPeakBytes", MemoryGovernor::peakBytes);
    device("gpu.deviceMemoryLimitBytes", MemoryGovernor::limitBytes);
    host("gpu.pinnedUsedBytes", HostStatus::pinnedHeldBytes);
    host("gpu.pinnedPeakBytes", HostStatus::pinnedPeakBytes);
    host("gpu.pinnedKeptBytes", HostStatus::pinnedKeptBytes);
    host("host.usedBytes", HostStatus::plainHeldBytes);
    host("host.peakBytes", HostStatus::plainPeakBytes);
    host("host.keptBytes", HostStatus::plainKeptBytes);
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

  private void onDevices(String name, ToLongFunction<PipelineTotals.Snapshot> figure) {
    counter(name, () -> figure.applyAsLong(runtime.deviceWork()));
  }

  private void device(String name, ToLongFunction<MemoryGovernor> figure) {
    gauge(name, () -> runtime.gpus().stream().map(Gpu::governor).mapToLong(figure).sum());
  }

  private void host(String name, ToLongFunction<HostStatus> figure) {
    gauge(name, () -> figure.applyAsLong(runtime.hostStatus()));
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
