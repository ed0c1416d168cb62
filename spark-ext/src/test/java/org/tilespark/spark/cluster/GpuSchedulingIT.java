package org.tilespark.spark.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.CleanupMode;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.kernels.device.DeviceProbe;
import org.tilespark.kernels.device.RequiresGpu;
import org.tilespark.spark.TileSparkExtensions;
import org.tilespark.spark.TileSparkPlugin;
import org.tilespark.spark.conf.TileSparkConf;

/**
 * Devices as Spark schedules them, found by the script that comes with the jar: one executor with
 * all of them, an executor for each, and local mode. Results are the same. Spark spreads the tasks
 * over executors, by where the blocks are cached; an executor spreads the blocks of its tasks over
 * its devices, within 10 %. One device leaves the first and the last case.
 */
@RequiresGpu
class GpuSchedulingIT {
  private static final Duration LIMIT = Duration.ofMinutes(5);
  private static final int MOST_DEVICES = 2;
  private static final int CORES = 8;
  private static final Pattern DEVICE = Pattern.compile("(?m)^DEVICE (\\S+)/(\\d+) (\\d+)$");
  private static final Pattern TASKS = Pattern.compile("(?m)^TASKS (\\S+) (\\d+)$");
  private static final Pattern RESULT = Pattern.compile("(?m)^RESULT (\\S+ -?\\d+)$");

  private final int devices = Math.min(MOST_DEVICES, DeviceProbe.deviceCount());

  @TempDir(cleanup = CleanupMode.ON_SUCCESS)
  Path directory;

  @Test
  void allDevicesInOneExecutor() throws IOException {
    Outcome outcome = onCluster("one", 1, devices);
    assertEquals(devices, outcome.blocksByDevice().size(), outcome::toString);
    assertSpread(outcome);
    assertEquals(local().results(), outcome.results());
  }

  @Test
  void anExecutorForEachDevice() throws IOException {
    Assumptions.assumeTrue(devices > 1, "one device is what there is");
    Outcome outcome = onCluster("each", devices, 1);
    assertEquals(devices, outcome.blocksByDevice().size(), outcome::toString);
    Set<String> numbers = new TreeSet<>();
    outcome.blocksByDevice().keySet().forEach(device -> numbers.add(device.split("/")[1]));
    assertEquals(devices, numbers.size(), "different devices");
    assertSpread(outcome);
    assertEquals(local().results(), outcome.results());
  }

  @Test
  void localModeUsesAllDevices() {
    Outcome outcome = local();
    assertEquals(DeviceProbe.deviceCount(), outcome.blocksByDevice().size(), outcome::toString);
    assertSpread(outcome);
  }

  /**
   * The output of an application.
   *
   * @param blocksByDevice by executor and number
   * @param blocksOfTasks the blocks of each executor's tasks
   * @param results a hash of each
   */
  private record Outcome(
      Map<String, Long> blocksByDevice, Map<String, Long> blocksOfTasks, List<String> results) {
    static Outcome of(ChildJvm.Outcome process) {
      assertEquals(0, process.exitCode(), process::output);
      Map<String, Long> blocks = new TreeMap<>();
      Matcher device = DEVICE.matcher(process.output());
      while (device.find()) {
        blocks.put(device.group(1) + "/" + device.group(2), Long.valueOf(device.group(3)));
      }
      Map<String, Long> tasks = new TreeMap<>();
      Matcher task = TASKS.matcher(process.output());
      while (task.find()) {
        tasks.put(task.group(1), Long.valueOf(task.group(2)));
      }
      List<String> results = new ArrayList<>();
      Matcher result = RESULT.matcher(process.output());
      while (result.find()) {
        results.add(result.group(1));
      }
      assertEquals(jobs().size(), results.size(), process::output);
      return new Outcome(blocks, tasks, results);
    }
  }

  /** Jobs to run; the property leaves out those that an emulated device cannot do. */
  private static List<String> jobs() {
    return List.of(
        System.getProperty("tilespark.test.deviceJobs", "transpose multiply").split(" "));
  }

  /** Devices did all that Spark gave their executor, each within 10 % of an even share. */
  private static void assertSpread(Outcome outcome) {
    Map<String, List<Long>> byExecutor = new TreeMap<>();
    outcome
        .blocksByDevice()
        .forEach(
            (device, blocks) ->
                byExecutor
                    .computeIfAbsent(device.split("/")[0], e -> new ArrayList<>())
                    .add(blocks));
    assertEquals(outcome.blocksOfTasks().keySet(), byExecutor.keySet(), outcome::toString);
    byExecutor.forEach(
        (executor, devices) -> {
          long all = devices.stream().mapToLong(Long::longValue).sum();
          assertEquals(outcome.blocksOfTasks().get(executor), all, outcome::toString);
          double even = (double) all / devices.size();
          devices.forEach(blocks -> assertEquals(even, blocks, 0.1 * even, outcome::toString));
        });
  }

  private Outcome onCluster(String name, int executors, int devicesOfEach) throws IOException {
    Path place = Files.createDirectory(directory.resolve(name));
    Map<String, String> workerConf =
        Map.of(
            "spark.worker.resource.gpu.amount", Integer.toString(devices),
            "spark.worker.resource.gpu.discoveryScript", discoveryScript(place).toString());
    LocalCluster.Layout layout = new LocalCluster.Layout(1, CORES, 4096, workerConf, List.of());
    int coresOfEach = CORES / executors;
    Map<String, String> conf = conf();
    conf.put("spark.executor.cores", Integer.toString(coresOfEach));
    conf.put("spark.executor.memory", "1g");
    conf.put("spark.executor.resource.gpu.amount", Integer.toString(devicesOfEach));
    conf.put(
        "spark.task.resource.gpu.amount", Double.toString(devicesOfEach / (double) coresOfEach));
    try (LocalCluster cluster = LocalCluster.start(place, layout)) {
      List<String> arguments = new ArrayList<>(List.of(Integer.toString(executors)));
      arguments.addAll(jobs());
      ChildJvm.Outcome outcome =
          cluster.run(DeviceSpreadJob.class, conf, LIMIT, arguments.toArray(String[]::new));
      assertTrue(outcome.exitCode() == 0, () -> outcome.output() + cluster.logs());
      return Outcome.of(outcome);
    }
  }

  private Outcome local() {
    Map<String, String> conf = conf();
    conf.put("spark.master", "local[" + CORES + "]");
    conf.put("spark.app.name", "in one process");
    conf.put("spark.driver.host", "127.0.0.1");
    conf.put("spark.driver.bindAddress", "127.0.0.1");
    conf.put("spark.ui.port", "0");
    conf.put("spark.sql.shuffle.partitions", "4");
    conf.put("spark.sql.extensions", TileSparkExtensions.class.getName());
    conf.put("spark.plugins", TileSparkPlugin.class.getName());
    List<String> options = new ArrayList<>(List.of("-Xmx2g"));
    conf.forEach((key, value) -> options.add("-D" + key + "=" + value));
    List<String> arguments = new ArrayList<>(List.of("1"));
    arguments.addAll(jobs());
    return Outcome.of(
        ChildJvm.start(
                DeviceSpreadJob.class.getName(),
                arguments,
                options,
                Map.of(),
                directory.resolve("local.log"))
            .await(LIMIT));
  }

  private static Map<String, String> conf() {
    return new TreeMap<>(
        Map.of(
            TileSparkConf.BACKEND.name(), "gpu",
            TileSparkConf.DEVICE_FRACTION.name(), "0.2",
            TileSparkConf.PINNED_POOL_SIZE.name(), "256m",
            TileSparkConf.BATCH_SIZE.name(), "64k"));
  }

  /** The script, where a user would put it. */
  private static Path discoveryScript(Path place) throws IOException {
    Path script = place.resolve("gpu-discovery.sh");
    try (InputStream in =
        TileSparkPlugin.class.getResourceAsStream("/org/tilespark/gpu-discovery.sh")) {
      Files.copy(in, script);
    }
    return Files.setPosixFilePermissions(script, PosixFilePermissions.fromString("rwxr-xr-x"));
  }
}
