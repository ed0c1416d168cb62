package org.tilespark.spark;

import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.spark.SparkContext;
import org.apache.spark.TaskFailedReason;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.api.plugin.SparkPlugin;
import org.apache.spark.resource.ResourceInformation;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tilespark.kernels.device.DeviceProbe;
import org.tilespark.spark.planner.Backend;
import org.tilespark.spark.planner.ExecutorReport;
import org.tilespark.spark.planner.ExecutorReports;

/**
 * Sets executors up and down: {@code spark.plugins=org.tilespark.spark.TileSparkPlugin}.
 *
 * <p>Without it everything works too, but devices are opened by the first task that needs one, and
 * EXPLAIN on a cluster cannot tell what the executors have.
 */
public final class TileSparkPlugin implements SparkPlugin {
  private static final Logger LOG = LoggerFactory.getLogger(TileSparkPlugin.class);

  /**
   * The exit status of an executor that lost its device; Spark's log of lost executors shows it.
   */
  public static final int LOST_DEVICE_STATUS = 87;

  @Override
  public DriverPlugin driverPlugin() {
    return new Driver();
  }

  @Override
  public ExecutorPlugin executorPlugin() {
    return new Executor();
  }

  private static final class Driver implements DriverPlugin {
    private ExecutorReports reports;

    @Override
    public Map<String, String> init(SparkContext context, PluginContext plugin) {
      reports = ExecutorReports.start();
      return Map.of();
    }

    @Override
    public Object receive(Object message) {
      if (message instanceof ExecutorReport report) {
        reports.add(report);
      }
      return null;
    }

    @Override
    public void shutdown() {
      ExecutorReports.stop();
      ExecutorRuntime.stop(); // local mode without an executor part that came this far
    }
  }

  private static final class Executor implements ExecutorPlugin {
    /** Long enough for a status update to be sent. */
    private static final long EXIT_DELAY_MILLIS = 1000;

    /** The executor's id in local mode, where it shares the driver's process. */
    private static final String LOCAL_EXECUTOR = "driver";

    private final AtomicBoolean exiting = new AtomicBoolean();
    private boolean exitOnLostDevice;

    @Override
    public void init(PluginContext plugin, Map<String, String> extraConf) {
      exitOnLostDevice =
          !plugin.executorID().equals(LOCAL_EXECUTOR)
              && TileSparkConf.EXIT_ON_LOST_DEVICE.read(TileSparkConf.application(plugin.conf()));
      DeviceProbe probe = DeviceProbe.run();
      ResourceInformation gpus = plugin.resources().get("gpu");
      ExecutorRuntime runtime =
          ExecutorRuntime.start(gpus == null ? List.of() : List.of(gpus.addresses()));
      Backend backend = TileSparkConf.BACKEND.read(TileSparkConf.application(plugin.conf()));
      if (probe.available() && backend != Backend.CPU) {
        // Opening takes about a second, which the first task need not wait for.
        var ignored = runtime.memory(runtime.gpu(backend, null));
      }
      try {
        plugin.send(
            new ExecutorReport(plugin.executorID(), probe.available(), probe.description()));
      } catch (Exception e) { // the interface declares it; a report is worth no executor
        LOG.warn("Could not report the GPU to the driver; EXPLAIN will not know it", e);
      }
    }

    /** Ends an executor that lost its device, once the driver has heard of the task's failure. */
    @Override
    public void onTaskFailed(TaskFailedReason reason) {
      boolean lost = ExecutorRuntime.current().lostDevice().isPresent();
      if (lost && exitOnLostDevice && exiting.compareAndSet(false, true)) {
        LOG.error("This executor lost its device and ends; Spark runs its work elsewhere");
        Thread exit =
            new Thread(
                () -> {
                  try {
                    TimeUnit.MILLISECONDS.sleep(EXIT_DELAY_MILLIS);
                  } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                  }
                  Runtime.getRuntime()
                      .halt(LOST_DEVICE_STATUS); // exit hooks may wait for the device
                },
                "tilespark-exit");
        exit.setDaemon(true);
        exit.start();
      }
    }

    @Override
    public void shutdown() {
      ExecutorRuntime.stop();
    }
  }
}
