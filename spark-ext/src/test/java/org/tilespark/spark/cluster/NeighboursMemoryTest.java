package org.tilespark.spark.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.kernels.InTurn;
import org.tilespark.spark.TileSparkExtensions;
import org.tilespark.spark.TileSparkPlugin;

/** Memory does not grow with the product that neighbours are found in. */
@InTurn
class NeighboursMemoryTest {
  private static final Pattern MOST_RESIDENT = Pattern.compile("VmHWM:\\s+(\\d+) kB");

  /** Of heap, pool and store, and the rest of a JVM with Spark; the product has 1526. */
  private static final long MOST_MIB = 1200;

  @TempDir Path directory;

  @Test
  void aProductLargerThanTheProcess() {
    ChildJvm.Outcome outcome =
        ChildJvm.start(
                NeighboursMemoryJob.class.getName(),
                List.of(),
                List.of(
                    "-Xmx512m",
                    "-Dspark.master=local[2]",
                    "-Dspark.ui.enabled=false",
                    "-Dspark.driver.host=127.0.0.1",
                    "-Dspark.driver.bindAddress=127.0.0.1",
                    "-Dspark.local.dir=" + directory.resolve("local"),
                    "-Dspark.sql.warehouse.dir=" + directory.resolve("warehouse").toUri(),
                    "-Dspark.sql.shuffle.partitions=4",
                    "-Dspark.sql.extensions=" + TileSparkExtensions.class.getName(),
                    "-Dspark.plugins=" + TileSparkPlugin.class.getName(),
                    "-Dspark.tilespark.backend=cpu",
                    "-Dspark.tilespark.memory.storeSize=64m"),
                Map.of("MALLOC_ARENA_MAX", "2"),
                directory.resolve("driver.log"))
            .await(Duration.ofMinutes(8));
    assertEquals(0, outcome.exitCode(), outcome::output);
    Matcher most = MOST_RESIDENT.matcher(outcome.output());
    assertTrue(most.find(), outcome::output);
    long mostMib = Long.parseLong(most.group(1)) >> 10;
    assertTrue(mostMib <= MOST_MIB, mostMib + " MiB resident");
  }
}
