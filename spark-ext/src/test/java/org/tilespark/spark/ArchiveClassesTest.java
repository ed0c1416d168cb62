package org.tilespark.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.kernels.InTurn;
import org.tilespark.spark.cluster.ChildJvm;

/** The job of {@code dev/class-archive} runs to its end. */
@InTurn
class ArchiveClassesTest {
  @Test
  void runsItsQueries(@TempDir Path directory) {
    ChildJvm.Outcome outcome =
        ChildJvm.start(
                ArchiveClasses.class.getName(),
                List.of(directory.toString()),
                List.of(
                    "-Dspark.master=local[2]",
                    "-Dspark.app.name=archive",
                    "-Dspark.ui.enabled=false",
                    "-Dspark.driver.host=127.0.0.1",
                    "-Dspark.plugins=" + TileSparkPlugin.class.getName(),
                    "-Dspark.sql.warehouse.dir=" + directory.resolve("warehouse").toUri()),
                Map.of("SPARK_LOCAL_IP", "127.0.0.1"),
                directory.resolve("log"))
            .await(Duration.ofMinutes(5));
    assertEquals(0, outcome.exitCode(), outcome.output());
    assertTrue(Files.exists(directory.resolve("product.npy")), outcome.output());
  }
}
