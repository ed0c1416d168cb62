package org.tilespark.spark.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.CleanupMode;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.kernels.InTurn;
import org.tilespark.spark.cluster.LostExecutorJob.Loss;
import org.tilespark.spark.conf.TileSparkConf;

/** An executor of a real cluster that loses its device; {@link LostExecutorJob} looks closer. */
@InTurn
class LostExecutorTest {
  @TempDir(cleanup = CleanupMode.ON_SUCCESS)
  Path directory;

  @Test
  void endsAndAnotherDoesItsWork() {
    try (LocalCluster cluster = LocalCluster.start(directory, 1, 2, 2048)) {
      Map<String, String> conf = new TreeMap<>(conf());
      conf.put("spark.executor.cores", "1"); // two executors
      // Until then Spark waits for the exit status before it calls the executor disconnected.
      conf.put("spark.standalone.executorRemoveDelayOnDisconnection", "120s");
      ChildJvm.Outcome outcome =
          cluster.run(LostExecutorJob.class, conf, Duration.ofMinutes(15), loss().name());
      assertEquals(0, outcome.exitCode(), cluster::logs);
      assertTrue(
          outcome.output().contains("ended with status 87 and was replaced"), outcome.output());
    }
  }

  /** How the device gets lost. */
  Loss loss() {
    return Loss.BY_HAND;
  }

  /** The application's configuration. */
  Map<String, String> conf() {
    return Map.of(TileSparkConf.BACKEND.name(), "cpu");
  }
}
