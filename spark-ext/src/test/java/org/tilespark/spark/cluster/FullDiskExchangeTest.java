package org.tilespark.spark.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.spark.TileSparkExtensions;
import org.tilespark.spark.TileSparkPlugin;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.testing.SmallDisk;

/**
 * An exchange that finds neither memory nor disk: a mount of 8 MiB. Skipped where this process may
 * not mount.
 */
@Tag("full")
class FullDiskExchangeTest {
  @TempDir Path directory;

  @Test
  void theJobFailsAndSaysWhy() throws Exception {
    try (SmallDisk small = SmallDisk.mount(directory, 8)) {
      theJobFailsAndSaysWhy(small.path());
    }
  }

  private void theJobFailsAndSaysWhy(Path disk) {
    Map<String, String> conf = new TreeMap<>(FullDiskJob.conf(disk));
    conf.put("spark.driver.host", "127.0.0.1");
    conf.put("spark.driver.bindAddress", "127.0.0.1");
    conf.put("spark.sql.warehouse.dir", directory.resolve("warehouse").toUri().toString());
    conf.put("spark.sql.extensions", TileSparkExtensions.class.getName());
    conf.put("spark.plugins", TileSparkPlugin.class.getName());
    conf.put(TileSparkConf.BACKEND.name(), "cpu");
    conf.put(TileSparkConf.EXCHANGE_MODE.name(), "memory");
    conf.put(TileSparkConf.STORE_SIZE.name(), "1m");
    List<String> options = new ArrayList<>(List.of("-Xmx512m"));
    conf.forEach((key, value) -> options.add("-D" + key + "=" + value));
    ChildJvm.Outcome outcome =
        ChildJvm.start(
                FullDiskJob.class.getName(),
                List.of(disk.toString()),
                options,
                Map.of(),
                directory.resolve("driver.log"))
            .await(Duration.ofMinutes(10));
    assertEquals(0, outcome.exitCode(), outcome::output);
    assertTrue(Cases.passed("what fits is right", outcome.output()), outcome::output);
  }
}
