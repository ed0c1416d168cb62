package org.tilespark.spark.ui;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.TileSparkExtensions;
import org.tilespark.spark.TileSparkPlugin;
import org.tilespark.spark.cluster.ChildJvm;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.testing.TestArray;

/** Applications that have no web UI, or do not want the tab. */
class NoTabTest {
  @TempDir Path directory;

  @Test
  void queriesRunWithoutTheTab() {
    ChildJvm.assertEndsWell(Driver.class, List.of(), directory);
  }

  /** Two applications, one after the other. */
  static final class Driver {
    private Driver() {}

    public static void main(String[] args) throws Exception {
      try (SparkSession spark = session("spark.ui.enabled")) {
        assertTrue(spark.sparkContext().ui().isEmpty());
        query(spark);
        assertFalse(executorReports());
      }
      try (SparkSession spark = session(TileSparkConf.UI_ENABLED.name())) {
        query(spark);
        String url = spark.sparkContext().uiWebUrl().get();
        String jobs = get(url + "/jobs/");
        assertTrue(jobs.contains("/executors/"), jobs);
        assertFalse(jobs.contains(">GPU</a>"), jobs);
        assertFalse(get(url + "/GPU/json").contains("executorId"));
        assertFalse(executorReports());
      }
    }

    private static SparkSession session(String off) {
      return SparkSession.builder()
          .master("local[2]")
          .config("spark.driver.bindAddress", "127.0.0.1")
          .config("spark.driver.host", "127.0.0.1")
          .config("spark.ui.port", "0")
          .config("spark.sql.extensions", TileSparkExtensions.class.getName())
          .config("spark.plugins", TileSparkPlugin.class.getName())
          .config(off, "false")
          .getOrCreate();
    }

    private static void query(SparkSession spark) {
      TestArray array = TestArray.matrix(ElementType.FLOAT32, 40, 60, 10, 10);
      array.assertPermuted(
          Permutation.of(1, 0), MatrixBlocks.transpose(array.toDataFrame(spark, 2)));
    }

    /** True if the thread that would tell the driver is there. */
    private static boolean executorReports() {
      return Thread.getAllStackTraces().keySet().stream()
          .anyMatch(thread -> thread.getName().equals("tilespark-status"));
    }

    private static String get(String url) throws IOException, InterruptedException {
      return HttpClient.newBuilder()
          .followRedirects(HttpClient.Redirect.NORMAL)
          .build()
          .send(
              HttpRequest.newBuilder(URI.create(url)).build(), HttpResponse.BodyHandlers.ofString())
          .body();
    }
  }
}
