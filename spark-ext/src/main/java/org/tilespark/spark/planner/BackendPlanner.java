package org.tilespark.spark.planner;

import java.util.Optional;
import org.apache.spark.SparkContext;
import org.tilespark.kernels.device.DeviceProbe;

/**
 * Says, on the driver, who will compute. In local mode that is known; on a cluster each executor
 * acts on the configuration by what it finds, and the plugin's reports say what that will be.
 */
final class BackendPlanner {
  private static final String PLUGIN = "org.tilespark.spark.TileSparkPlugin";

  private BackendPlanner() {}

  static BackendChoice choose(Backend requested, SparkContext context) {
    if (requested == Backend.CPU) {
      return new BackendChoice(requested, "cpu");
    }
    String expected =
        context.isLocal()
            ? inThisProcess(requested, DeviceProbe.run())
            : onExecutors(ExecutorReports.current().map(ExecutorReports::summary));
    return new BackendChoice(requested, expected);
  }

  static String inThisProcess(Backend requested, DeviceProbe probe) {
    if (probe.available()) {
      return "gpu: " + probe.description();
    }
    return requested == Backend.GPU
        ? "gpu, which will fail: " + probe.reason()
        : "cpu: " + probe.reason();
  }

  private static String onExecutors(Optional<String> summary) {
    return "each executor decides: "
        + summary.orElse("unknown to the driver without spark.plugins=" + PLUGIN);
  }
}
