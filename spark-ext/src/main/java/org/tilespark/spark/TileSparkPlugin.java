package org.tilespark.spark;

import java.io.Serializable;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.spark.ExceptionFailure;
import org.apache.spark.SparkContext;
import org.apache.spark.TaskFailedReason;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.api.plugin.SparkPlugin;
import org.apache.spark.resource.ResourceInformation;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tilespark.kernels.device.CudaFailure;
import org.tilespark.spark.cache.BlockCacheSerializer;
import org.tilespark.spark.catalyst.compat.SparkVersion;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.error.ErrorBoundary;
import org.tilespark.spark.runtime.ExecutorReport;
import org.tilespark.spark.runtime.ExecutorReports;
import org.tilespark.spark.runtime.ExecutorRuntime;
import org.tilespark.spark.runtime.ExecutorStatus;
import org.tilespark.spark.runtime.SessionLine;
import org.tilespark.spark.runtime.StatusSender;
import org.tilespark.spark.shuffle.LocalExecutor;
import org.tilespark.spark.shuffle.TileShuffleManager;
import org.tilespark.spark.ui.ExecutorBoard;
import org.tilespark.spark.ui.ExecutorMetrics;
import org.tilespark.spark.ui.GpuTab;

/**
 * Starts and stops tilespark's part of driver and executors: {@code
 * spark.plugins=org.tilespark.spark.TileSparkPlugin}.
 *
 * <p>Everything also works without the plugin, but devices are opened by the first task that needs
 * one, and EXPLAIN on a cluster cannot show the executors' devices.
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

  /**
   * Key in the map that the driver sends to executors: its value says whether the driver shows
   * their status.
   */
  private static final String SHOWN = "status.shown";

  /** Key in the same map: its value is the driver's build. */
  private static final String BUILD = "build";

  /** Message for the driver's log: an executor ends because its build differs. */
  private record Refusal(String why) implements Serializable {}

  private static final class Driver implements DriverPlugin {
    private final ExecutorBoard board = new ExecutorBoard();
    private ExecutorReports reports;
    private boolean isLocal;

    @Override
    public Map<String, String> init(SparkContext context, PluginContext plugin) {
      // Spark logs the exception's trace and clients print it again, so it should be short.
      ErrorBoundary.CALLS.run(() -> TileSparkConf.check(TileSparkConf.settings(context.conf())));
      isLocal = context.isLocal();
      if (isLocal) {
        LocalExecutor.start();
      }
      SparkVersion.warnIfUntested();
      PluginSettings.add(context.conf(), SparkVersion.running());
      if (!isLocal) { // in local mode the executor's part logs a line that says more
        LOG.info(SessionLine.ofDriver(context.conf()));
      }
      reports = ExecutorReports.start();
      context.addSparkListener(board);
      context.addSparkListener(
          new SparkListener() {
            @Override
            public void onExecutorRemoved(SparkListenerExecutorRemoved event) {
              reports.remove(event.executorId());
            }
          });
      return Map.of(
          SHOWN,
          Boolean.toString(attachTab(context)),
          BUILD,
          Build.running().map(Build::toString).orElse(Build.UNKNOWN));
    }

    /**
     * Registers metrics in local mode, where the driver is the executor too: Spark starts an
     * executor's part before the application has its id, which names metrics.
     */
    @Override
    public void registerMetrics(String applicationId, PluginContext plugin) {
      if (isLocal) {
        ExecutorMetrics.register(plugin.metricRegistry(), ExecutorRuntime.current());
      }
    }

    /**
     * Adds the tab to Spark's UI, if there is a UI and the tab is configured; true if it was added.
     */
    private boolean attachTab(SparkContext context) {
      boolean wanted = TileSparkConf.UI_ENABLED.read(TileSparkConf.application(context.conf()));
      if (!wanted || context.ui().isEmpty()) {
        return false;
      }
      try {
        GpuTab.attach(context.ui().get(), board);
        return true;
      } catch (RuntimeException | LinkageError e) { // Spark's UI classes are no public interface
        LOG.warn(
            "No GPU tab in the web UI of Spark {}; SQL metrics and the metrics system have its"
                + " figures too",
            context.version(),
            e);
        return false;
      }
    }

    @Override
    public Object receive(Object message) {
      if (message instanceof ExecutorReport report) {
        reports.add(report);
        LOG.info(
            "Executor {} has {} GPUs: {}",
            report.executorId(),
            report.devices(),
            report.description());
      } else if (message instanceof ExecutorStatus status) {
        board.report(status);
      } else if (message instanceof Refusal refusal) {
        LOG.error(refusal.why());
      } else {
        return TileShuffleManager.answer(message).orElse(null);
      }
      return null;
    }

    @Override
    public void shutdown() {
      BlockCacheSerializer.uninstall();
      ExecutorReports.stop();
      ExecutorRuntime.stop(); // if the executor's part did not start completely in local mode
    }
  }

  private static final class Executor implements ExecutorPlugin {
    /** Delay before an executor exits: long enough for a status update to be sent. */
    private static final long EXIT_DELAY_MILLIS = 1000;

    /** Most causes of a failure that are examined, since chains of causes may be circular. */
    private static final int MOST_CAUSES = 100;

    private final AtomicBoolean exiting = new AtomicBoolean();
    private boolean exitOnLostDevice;
    private Optional<StatusSender> sender = Optional.empty();
    private ExecutorRuntime runtime;

    @Override
    public void init(PluginContext plugin, Map<String, String> extraConf) {
      refuseOtherBuilds(plugin, extraConf.get(BUILD));
      boolean isLocal = plugin.executorID().equals(ExecutorRuntime.LOCAL_EXECUTOR);
      exitOnLostDevice =
          !isLocal
              && TileSparkConf.EXIT_ON_LOST_DEVICE.read(TileSparkConf.application(plugin.conf()));
      ResourceInformation gpus = plugin.resources().get("gpu");
      runtime =
          ExecutorRuntime.start(Optional.of(gpus == null ? List.of() : List.of(gpus.addresses())));
      runtime.openAhead();
      if (!isLocal) {
        ExecutorMetrics.register(plugin.metricRegistry(), runtime);
        report(plugin);
      }
      boolean shown = Boolean.parseBoolean(extraConf.get(SHOWN));
      if (shown || !isLocal) {
        sender =
            Optional.of(
                new StatusSender(status -> talk(plugin, status, shown, isLocal), runtime::status));
      }
    }

    /**
     * Sends the executor's status to the driver, if the driver shows it, and receives the resources
     * to release.
     */
    private static void talk(PluginContext plugin, Object status, boolean shown, boolean isLocal)
        throws Exception {
      if (shown) {
        plugin.send(status);
      }
      if (!isLocal) {
        TileShuffleManager.letGo(plugin::ask);
      }
    }

    /**
     * Ends the executor if it has another build than the driver, before a task misreads the
     * driver's data.
     */
    private static void refuseOtherBuilds(PluginContext plugin, String ofDriver) {
      Build.whyRefused(plugin.executorID(), Build.running(), ofDriver)
          .ifPresent(
              why -> {
                try {
                  // Waits for the answer, since this process ends.
                  Object ignored = plugin.ask(new Refusal(why));
                } catch (Exception e) { // ask declares the exception
                  LOG.warn("Could not tell the driver", e);
                }
                throw new IllegalStateException(why);
              });
    }

    /**
     * Reports this executor's devices to the driver. It runs synchronously, since the first query
     * may be planned as soon as the executor is known; in local mode the planner looks for devices
     * itself.
     */
    private void report(PluginContext plugin) {
      try {
        plugin.send(
            new ExecutorReport(
                plugin.executorID(),
                runtime.usableDevices().thing().orElse(0),
                runtime.deviceDescription(),
                runtime.deviceBytes()));
      } catch (Exception e) { // send declares it; a failed report is no reason to end the executor
        LOG.warn("Could not report the GPU to the driver; EXPLAIN will not know it", e);
      }
    }

    /**
     * Holds tasks back in an executor that is about to end: they would only fail here, and each
     * failure brings the job nearer to Spark's limit.
     */
    @Override
    public void onTaskStart() {
      if (exiting.get()) {
        try {
          TimeUnit.MILLISECONDS.sleep(10 * EXIT_DELAY_MILLIS);
        } catch (InterruptedException e) { // the task is killed, which ends the wait as well
          Thread.currentThread().interrupt();
        }
      }
    }

    @Override
    public void onTaskSucceeded() {
      sender.ifPresent(StatusSender::soon);
    }

    /** Tells the driver of the failure; then, if the device is lost, ends this executor. */
    @Override
    public void onTaskFailed(TaskFailedReason reason) {
      sender.ifPresent(StatusSender::soon);
      stickyFailure(reason).ifPresent(runtime::deviceLost);
      boolean lost = runtime.lostDevice().isPresent();
      if (lost && exitOnLostDevice && exiting.compareAndSet(false, true)) {
        LOG.error("This executor lost its device and ends; Spark runs its work elsewhere");
        sender.ifPresent(StatusSender::now);
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

    /**
     * The sticky CUDA error among the causes of the failure, after which every later call fails.
     */
    private static Optional<CudaFailure> stickyFailure(TaskFailedReason reason) {
      if (reason instanceof ExceptionFailure failure && failure.exception().isDefined()) {
        Throwable cause = failure.exception().get();
        for (int depth = 0; cause != null && depth < MOST_CAUSES; depth++) {
          if (cause instanceof CudaFailure cuda && cuda.isSticky()) {
            return Optional.of(cuda);
          }
          cause = cause.getCause();
        }
      }
      return Optional.empty();
    }

    @Override
    public void shutdown() {
      sender.ifPresent(StatusSender::close);
      ExecutorRuntime.stop();
    }
  }
}
