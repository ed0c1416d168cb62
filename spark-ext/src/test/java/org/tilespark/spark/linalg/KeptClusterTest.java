package org.tilespark.spark.linalg;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.CleanupMode;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.kernels.InTurn;
import org.tilespark.spark.cluster.ChildJvm;
import org.tilespark.spark.cluster.LocalCluster;

/** Factorizations of tall matrices whose executors die. */
@InTurn
class KeptClusterTest {
  @TempDir(cleanup = CleanupMode.ON_SUCCESS)
  Path directory;

  @Test
  void whatALostExecutorHadIsComputedAgain() {
    try (LocalCluster cluster = LocalCluster.start(directory, 2, 1, 1024)) {
      ChildJvm.Outcome outcome =
          cluster.run(
              KeptClusterJob.class,
              Map.of("spark.locality.wait", "0"),
              Duration.ofMinutes(10),
              directory.toString());
      assertEquals(0, outcome.exitCode(), () -> outcome + "\n" + cluster.logs());
    }
  }
}
