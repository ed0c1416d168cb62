package org.tilespark.spark.cache;

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

/** Cached blocks of several executors. */
@InTurn
class CacheClusterTest {
  @TempDir(cleanup = CleanupMode.ON_SUCCESS)
  Path directory;

  @Test
  void executorsReadEachOthersBlocks() {
    try (LocalCluster cluster = LocalCluster.start(directory, 2, 1, 1024)) {
      ChildJvm.Outcome outcome =
          cluster.run(
              CacheClusterJob.class,
              Map.of("spark.locality.wait", "0", "spark.io.encryption.enabled", "true"),
              Duration.ofMinutes(10),
              directory.toString());
      assertEquals(0, outcome.exitCode(), () -> outcome + "\n" + cluster.logs());
    }
  }
}
