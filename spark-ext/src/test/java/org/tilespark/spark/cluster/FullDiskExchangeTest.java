package org.tilespark.spark.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.spark.TileSparkExtensions;
import org.tilespark.spark.TileSparkPlugin;
import org.tilespark.spark.conf.TileSparkConf;

/**
 * An exchange that finds neither memory nor disk: a mount of 8 MiB. Skipped where this process may
 * not mount.
 */
@Tag("full")
class FullDiskExchangeTest {
  @TempDir Path directory;
  private Path disk;
  private boolean mounted;

  @BeforeEach
  void mount() throws Exception {
    disk = Files.createDirectory(directory.resolve("disk"));
    String problem = command("mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", disk.toString());
    mounted = problem.isEmpty();
    Assumptions.assumeTrue(mounted, () -> "cannot mount a small file system: " + problem);
  }

  @AfterEach
  void unmount() throws Exception {
    if (mounted) {
      assertEquals("", command("umount", disk.toString()));
    }
  }

  @Test
  void theJobFailsAndSaysWhy() {
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

  /** Runs it; returns what it printed if it failed, else nothing. */
  private static String command(String... words) throws Exception {
    Process process;
    try {
      process = new ProcessBuilder(words).redirectErrorStream(true).start();
    } catch (IOException e) {
      return e.getMessage();
    }
    String printed = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertTrue(process.waitFor(20, TimeUnit.SECONDS));
    return process.exitValue() == 0 ? "" : words[0] + ": " + printed.strip();
  }
}
