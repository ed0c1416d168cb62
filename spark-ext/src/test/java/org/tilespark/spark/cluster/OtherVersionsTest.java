package org.tilespark.spark.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.apache.spark.SparkEnv;
import org.apache.spark.shuffle.sort.SortShuffleManager;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.CleanupMode;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.kernels.InTurn;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.TileSparkPlugin;
import org.tilespark.spark.testing.TestArray;

/** A Spark that was not tested, and executors with another build of tilespark than the driver. */
class OtherVersionsTest {
  private static final Duration LIMIT = Duration.ofMinutes(10);

  @TempDir(cleanup = CleanupMode.ON_SUCCESS)
  Path directory;

  /** The running Spark, which says that it is another one. */
  @Tag("versions")
  @Test
  void anUntestedSparkKeepsItsShuffle() throws IOException {
    Files.writeString(
        directory.resolve("spark-version-info.properties"),
        "version=9.9.9\nuser=u\nrevision=r\nbranch=b\ndate=d\nurl=u\ndocroot=d\n");
    ChildJvm.Outcome outcome =
        ChildJvm.start(
                directory + File.pathSeparator + ClassArchive.classPath(),
                UntestedSpark.class.getName(),
                List.of(),
                List.of("-Xmx512m"),
                Map.of(),
                directory.resolve("driver.log"))
            .await(LIMIT);
    assertEquals(0, outcome.exitCode(), outcome::output);
    List<String> lines =
        outcome.output().lines().filter(line -> line.contains("Spark 9.9.9 is newer")).toList();
    assertEquals(1, lines.size(), outcome::output);
    assertTrue(lines.get(0).contains("Spark's own shuffle"), lines::toString);
    assertFalse(outcome.output().contains("LinkageError"), outcome::output);
  }

  /** An application that has the plugin alone: it appends the extension. */
  static final class UntestedSpark {
    private UntestedSpark() {}

    public static void main(String[] args) throws IOException {
      try (SparkSession spark =
          SparkSession.builder()
              .master("local[2]")
              .config("spark.driver.bindAddress", "127.0.0.1")
              .config("spark.driver.host", "127.0.0.1")
              .config("spark.ui.enabled", "false")
              .config("spark.plugins", TileSparkPlugin.class.getName())
              .getOrCreate()) {
        assertEquals("9.9.9", spark.version());
        assertEquals(SortShuffleManager.class, SparkEnv.get().shuffleManager().getClass());
        TestArray.matrix(ElementType.FLOAT32, 40, 60, 13, 17)
            .assertPermuted(
                Permutation.of(0, 1),
                MatrixBlocks.reblock(
                        TestArray.matrix(ElementType.FLOAT32, 40, 60, 10, 10)
                            .toDataFrame(spark, 2)
                            .drop("tag"),
                        13,
                        17)
                    .selectExpr("*", "cast(null AS STRING) AS tag"));
        spark.range(1).selectExpr("1L AS row").createOrReplaceTempView("t");
        assertTrue(spark.catalog().functionExists("matrix_transpose"));
      }
    }
  }

  @Test
  @InTurn
  void executorsWithAnotherBuildAreRefused() throws Exception {
    Path others = copyOfClasses(directory.resolve("others"));
    try (LocalCluster cluster = LocalCluster.start(directory, 1, 1, 1024);
        ChildJvm driver =
            cluster.begin(
                Waiting.class,
                Map.of(
                    "spark.executor.extraClassPath",
                    ClassArchive.ordered(
                        others + File.pathSeparator + ClassArchive.classPath())))) {
      String refusal = "Executor 0 has tilespark others (classes ";
      long deadline = System.nanoTime() + LIMIT.toNanos();
      while (!driver.printed().contains(refusal) && System.nanoTime() < deadline) {
        assertTrue(driver.isAlive(), cluster::logs);
        TimeUnit.MILLISECONDS.sleep(100);
      }
      assertTrue(driver.printed().contains(refusal), cluster::logs);
      assertTrue(driver.printed().contains(", the driver has classes (classes "), cluster::logs);
    }
  }

  /** The classes of this build, and one more. */
  private static Path copyOfClasses(Path target) throws IOException {
    Path classes =
        Path.of(
            TileSparkPlugin.class.getProtectionDomain().getCodeSource().getLocation().getPath());
    try (Stream<Path> all = Files.walk(classes)) {
      for (Path each : (Iterable<Path>) all::iterator) {
        Path copy = target.resolve(classes.relativize(each).toString());
        if (Files.isDirectory(each)) {
          Files.createDirectories(copy);
        } else {
          Files.copy(each, copy);
        }
      }
    }
    Files.copy(
        target.resolve("org/tilespark/spark/TileSparkPlugin.class"),
        target.resolve("org/tilespark/spark/More.class"));
    return target;
  }

  /** An application that waits for executors. */
  static final class Waiting {
    private Waiting() {}

    public static void main(String[] args) throws IOException, InterruptedException {
      try (SparkSession spark = SparkSession.builder().getOrCreate()) {
        System.out.println(spark.version());
        TimeUnit.MINUTES.sleep(LIMIT.toMinutes());
      }
    }
  }
}
