package org.tilespark.spark.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.CleanupMode;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.spark.conf.TileSparkConf;

/**
 * Hundreds of faults, one in each query: executors that are killed, memory and disks that refuse,
 * connections that are dropped. To run a part, or to run it again: {@code
 * -Dtilespark.test.faults=50 -Dtilespark.test.faultSeed=7}.
 */
@Tag("full")
class FaultScheduleTest {
  private static final Duration LIMIT = Duration.ofHours(3);
  private static final int FAULTS = Integer.getInteger("tilespark.test.faults", 500);
  private static final long SEED = Long.getLong("tilespark.test.faultSeed", 20261125);

  @TempDir(cleanup = CleanupMode.ON_SUCCESS)
  Path directory;

  @Test
  void noneIsWrongHangsOrLeaks() throws Exception {
    System.out.println("seed " + SEED + ", " + FAULTS + " faults");
    Path shared = Files.createDirectory(directory.resolve("shared"));
    Map<String, String> daemons = Map.of("spark.deploy.maxExecutorRetries", "-1");
    try (LocalCluster cluster =
        LocalCluster.start(directory, new LocalCluster.Layout(2, 2, 1024, daemons, List.of()))) {
      ChildJvm.Outcome outcome =
          cluster.run(
              FaultScheduleJob.class,
              Map.of(
                  TileSparkConf.BACKEND.name(),
                  "cpu",
                  TileSparkConf.EXCHANGE_MODE.name(),
                  "memory",
                  TileSparkConf.STORE_SIZE.name(),
                  "96k", // some outputs go to files
                  TileSparkConf.FAIL_EVERY_NTH_HOST_ALLOCATION.name(),
                  "1000000000",
                  "spark.shuffle.io.retryWait",
                  "100ms",
                  "spark.reducer.maxSizeInFlight",
                  "4k",
                  "spark.task.maxFailures",
                  "8"),
              LIMIT,
              Long.toString(SEED),
              Integer.toString(FAULTS),
              shared.toString());
      outcome
          .output()
          .lines()
          .filter(line -> line.startsWith("schedule: "))
          .forEach(System.out::println);
      assertEquals(0, outcome.exitCode(), () -> outcome.output() + cluster.logs());
      cluster.awaitNoExecutors();
    }
  }
}
