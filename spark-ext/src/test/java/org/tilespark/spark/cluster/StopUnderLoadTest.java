package org.tilespark.spark.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.CleanupMode;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.arrow.memory.GuardedMemorySource;
import org.tilespark.kernels.InTurn;

/**
 * Applications that are stopped while they work ({@link StopUnderLoadJob}): no process crashes or
 * hangs, and nothing of an application is left. Where memory is guarded, a use after its free ends
 * a process whatever the timing.
 */
class StopUnderLoadTest {
  private static final String GUARD = "-D" + GuardedMemorySource.PROPERTY + "=true";
  private static final int SEED = 20261127;

  /** How the worker ends an executor whose application is over: it asks, and need not force it. */
  private static final Set<String> RIGHT_EXITS = Set.of("0", "1", "143");

  private static final Pattern EXIT =
      Pattern.compile("Executor app-\\S+ finished with state \\w+ .*exitStatus (\\d+)");

  @TempDir(cleanup = CleanupMode.ON_SUCCESS)
  Path directory;

  private void local(int seed, int stops, List<String> options) throws IOException {
    List<String> all = new ArrayList<>(options);
    all.addAll(List.of("-Xmx512m", "-XX:ErrorFile=" + directory.resolve("hs_err")));
    ChildJvm.Outcome outcome =
        ChildJvm.start(
                StopUnderLoadJob.class.getName(),
                List.of(Integer.toString(seed), Integer.toString(stops)),
                all,
                Map.of("SPARK_LOCAL_DIRS", directory.resolve("local").toString()),
                directory.resolve("driver.log"))
            .await(Duration.ofSeconds(120 + 20L * stops));
    assertRight(outcome);
  }

  private void onACluster(int seed, int stops, List<String> options) throws IOException {
    try (LocalCluster cluster = LocalCluster.start(directory, 2, 2, 1024)) {
      List<String> all = new ArrayList<>(List.of(cluster.executorOptions()));
      all.addAll(options);
      all.add("-XX:ErrorFile=" + directory.resolve("hs_err"));
      ChildJvm.Outcome outcome =
          cluster.run(
              StopUnderLoadJob.class,
              Map.of("spark.executor.extraJavaOptions", String.join(" ", all)),
              Duration.ofSeconds(180 + 40L * stops),
              Integer.toString(seed),
              Integer.toString(stops));
      assertRight(outcome);
      Matcher exits = EXIT.matcher(cluster.workerLogs());
      Set<String> statuses = new TreeSet<>();
      while (exits.find()) {
        statuses.add(exits.group(1));
      }
      assertTrue(RIGHT_EXITS.containsAll(statuses), () -> statuses + "\n" + cluster.logs());
    }
  }

  private void assertRight(ChildJvm.Outcome outcome) throws IOException {
    assertEquals(0, outcome.exitCode(), outcome::output);
    assertEquals(List.of(), crashes(), outcome::output);
  }

  /** The files that the JVM writes when it crashes. */
  private List<Path> crashes() throws IOException {
    try (Stream<Path> files = Files.walk(directory)) {
      return files.filter(file -> file.getFileName().toString().startsWith("hs_err")).toList();
    }
  }

  @Test
  void eachLoadIsStopped() throws IOException {
    local(SEED, StopUnderLoadJob.Load.values().length, List.of(GUARD));
  }

  @Test
  @InTurn
  void eachLoadIsStoppedOnACluster() throws IOException {
    onACluster(SEED, StopUnderLoadJob.Load.values().length, List.of(GUARD));
  }

  /** With and without guards, which change the timing. */
  @Test
  @Tag("full")
  void hundredsOfStops() throws IOException {
    local(SEED + 1000, 120, List.of());
    local(SEED + 2000, 120, List.of(GUARD));
  }

  @Test
  @Tag("full")
  void manyStopsOnACluster() throws IOException {
    onACluster(SEED + 3000, 60, List.of(GUARD));
  }
}
