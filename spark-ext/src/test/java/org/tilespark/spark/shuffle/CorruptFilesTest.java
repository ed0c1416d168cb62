package org.tilespark.spark.shuffle;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.CleanupMode;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.kernels.InTurn;
import org.tilespark.kernels.Sampling;
import org.tilespark.spark.cluster.ChildJvm;
import org.tilespark.spark.cluster.LocalCluster;
import org.tilespark.spark.conf.TileSparkConf;

/** Files of two executors that are changed: what depends on them is made anew, and right. */
@InTurn
class CorruptFilesTest {
  @TempDir(cleanup = CleanupMode.ON_SUCCESS)
  Path directory;

  @Test
  void changedFilesOfOtherExecutorsAreMadeAnew() {
    try (LocalCluster cluster = LocalCluster.start(directory, 2, 2, 1024)) {
      ChildJvm.Outcome outcome =
          cluster.run(
              CorruptFilesJob.class,
              Map.of(
                  "spark.locality.wait",
                  "0",
                  "spark.sql.adaptive.enabled",
                  "false",
                  "spark.sql.shuffle.partitions",
                  "4",
                  "spark.executor.heartbeatInterval",
                  "1s",
                  "spark.stage.maxConsecutiveAttempts",
                  "8",
                  TileSparkConf.STORE_SIZE.name(),
                  "0",
                  TileSparkConf.EXCHANGE_MODE.name(),
                  "memory"),
              Duration.ofMinutes(30),
              directory.toString(),
              "43",
              Sampling.FULL ? "150" : "9");
      assertEquals(0, outcome.exitCode(), () -> outcome + "\n" + cluster.logs());
      outcome
          .output()
          .lines()
          .filter(line -> line.startsWith("corruption"))
          .forEach(System.out::println);
    }
  }
}
