package org.tilespark.spark.runtime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.spark.SparkConf;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.spark.TileSparkPlugin;
import org.tilespark.spark.cluster.ChildJvm;

class SessionLineTest {
  /** Spark's own warnings: of Hadoop's native library, and of this machine's name. */
  private static final String SPARKS = ".* WARN (NativeCodeLoader|Utils): .*";

  @TempDir Path directory;

  @Test
  void aClustersDriverNamesWhatItKnows() {
    SparkConf conf =
        new SparkConf(false)
            .set("spark.tilespark.backend", "gpu")
            .set("spark.tilespark.exchange.mode", "spark")
            .set("spark.shuffle.manager", "sort");
    assertEquals(
        "tilespark has backend=gpu; devices: as executors report them; exchange.mode=spark, by"
            + " sort; cache.mode=auto, by Spark's default; memory: in each executor's log",
        SessionLine.ofDriver(conf));
  }

  /** Spark's default log, at level INFO, of an application that starts and stops. */
  @Test
  void aPlainStartSaysItOnceAndWarnsOfNothing() {
    ChildJvm.Outcome outcome =
        ChildJvm.start(
                Application.class.getName(),
                List.of(),
                List.of("-Xmx512m"),
                Map.of("CUDA_VISIBLE_DEVICES", ""),
                directory.resolve("driver.log"))
            .await(Duration.ofMinutes(5));
    assertEquals(0, outcome.exitCode(), outcome::output);
    List<String> said =
        outcome.output().lines().filter(line -> line.contains("tilespark has ")).toList();
    assertEquals(1, said.size(), outcome::output);
    assertTrue(
        said.get(0)
            .matches(
                ".* INFO ExecutorRuntime: tilespark has backend=auto; devices: none \\(.+\\);"
                    + " exchange\\.mode=auto, by TileShuffleManager; cache\\.mode=auto, by"
                    + " BlockCacheSerializer; memory: up to 64 MiB outside the Java heap .*"),
        said.get(0));
    assertEquals(
        List.of(),
        outcome
            .output()
            .lines()
            .filter(line -> line.matches(".* (WARN|ERROR) .*") && !line.matches(SPARKS))
            .toList());
  }

  /** Starts a session of local mode, waits for the line, and stops. */
  static final class Application {
    private Application() {}

    public static void main(String[] args) {
      SparkSession spark =
          SparkSession.builder()
              .master("local[1]")
              .config("spark.ui.enabled", "false")
              .config("spark.driver.bindAddress", "127.0.0.1")
              .config("spark.driver.host", "127.0.0.1")
              .config("spark.tilespark.memory.storeSize", "64m")
              .config("spark.plugins", TileSparkPlugin.class.getName())
              .getOrCreate();
      spark.range(10).count();
      spark.stop(); // waits for the step that is under way; the first one writes the line
    }
  }
}
