package org.tilespark.spark.conf;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.spark.TileSparkExtensions;
import org.tilespark.spark.TileSparkPlugin;
import org.tilespark.spark.cluster.ChildJvm;

/** Applications that are started with settings that are wrong. */
class SettingsAtStartTest {
  @TempDir Path directory;

  @Test
  void areRefused() {
    ChildJvm.assertEndsWell(Driver.class, List.of(), directory);
  }

  /** One application after the other. */
  static final class Driver {
    private static final String PLUGINS = "spark.plugins";
    private static final String EXTENSIONS = "spark.sql.extensions";

    private Driver() {}

    public static void main(String[] args) throws IOException {
      String unknown = "did you mean 'spark.tilespark.memory.storeSize'?";
      // Nothing here reads it: there is no device.
      String fraction = "spark.tilespark.memory.deviceFraction is '2'; expected fraction";
      assertRefusesInFewLines(
          unknown, () -> query(PLUGINS, TileSparkPlugin.class, "spark.tilespark.storeSize", "1g"));
      assertRefuses(
          unknown,
          () -> query(EXTENSIONS, TileSparkExtensions.class, "spark.tilespark.storeSize", "1g"));
      assertRefusesInFewLines(
          fraction,
          () -> query(PLUGINS, TileSparkPlugin.class, TileSparkConf.DEVICE_FRACTION.name(), "2"));
      assertRefuses(
          fraction,
          () ->
              query(
                  EXTENSIONS,
                  TileSparkExtensions.class,
                  TileSparkConf.DEVICE_FRACTION.name(),
                  "2"));
      query(PLUGINS, TileSparkPlugin.class, TileSparkConf.DEVICE_FRACTION.name(), "0.5");
    }

    private static void query(String entry, Class<?> ours, String key, String value)
        throws IOException {
      try (SparkSession spark =
          SparkSession.builder()
              .master("local[1]")
              .config("spark.driver.bindAddress", "127.0.0.1")
              .config("spark.driver.host", "127.0.0.1")
              .config("spark.ui.enabled", "false")
              .config(entry, ours.getName())
              .config(key, value)
              .getOrCreate()) {
        assertEquals(1, spark.range(1).count());
      }
    }

    private static void assertRefuses(String why, Executable application) {
      String trace = trace(assertThrows(Exception.class, application));
      assertTrue(trace.contains(why), trace);
    }

    /** Spark logs the trace of an application that cannot start, and clients print it again. */
    private static void assertRefusesInFewLines(String why, Executable application) {
      String trace = trace(assertThrows(Exception.class, application));
      assertTrue(trace.lines().findFirst().orElse("").contains(why), trace);
      assertTrue(trace.lines().count() <= 10, trace);
    }

    private static String trace(Exception e) {
      StringWriter trace = new StringWriter();
      e.printStackTrace(new PrintWriter(trace));
      return trace.toString();
    }
  }
}
