package org.tilespark.spark.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.error.ErrorCondition;
import org.tilespark.spark.error.TileSparkThrowable;
import org.tilespark.spark.shuffle.StoredBlocks;

/**
 * An application that exchanges more than its memory and its local disk hold. Its argument is the
 * directory of the disk.
 */
public final class FullDiskJob {
  private FullDiskJob() {}

  public static void main(String[] args) throws IOException {
    Cases cases = new Cases();
    Path disk = Path.of(args[0]);
    try (SparkSession spark = SparkSession.builder().getOrCreate()) {
      cases.run("the job fails and says why", () -> fails(spark, disk));
      cases.run(
          "what fits is right",
          () -> {
            assertEquals(512 * 512 * 6.0, sum(reblocked(spark, 4))); // blocks 0 to 3
            awaitEmpty();
          });
    }
    cases.end();
  }

  /** Square blocks of 1 MiB, each full of its number, of an array as wide as {@code blocks}. */
  private static Dataset<Row> reblocked(SparkSession spark, int blocks) {
    Dataset<Row> row =
        spark
            .range(0, blocks, 1, 4)
            .selectExpr(
                "0L as row",
                "id * 512 as col",
                "512 as rows",
                "512 as cols",
                "array_repeat(cast(id as float), 512 * 512) as values");
    return MatrixBlocks.reblock(row, 512, 384);
  }

  private static double sum(Dataset<Row> blocks) {
    return blocks
        .selectExpr("aggregate(values, 0D, (a, x) -> a + x) as part")
        .selectExpr("sum(part)")
        .head()
        .getDouble(0);
  }

  private static void fails(SparkSession spark, Path disk) throws Exception {
    Exception failure = assertThrows(Exception.class, () -> sum(reblocked(spark, 24)));
    TileSparkThrowable ours = (TileSparkThrowable) failure;
    assertEquals(ErrorCondition.IO, ours.condition());
    for (String part :
        List.of(
            "Cannot write an output of shuffle",
            "No space left on device",
            "bytes in " + disk,
            "spark.local.dir")) {
      assertTrue(ours.reason().contains(part), ours::reason);
    }
    awaitEmpty();
    try (Stream<Path> files = Files.walk(disk)) {
      assertEquals(
          List.of(),
          files.filter(file -> file.getFileName().toString().startsWith("temp_")).toList(),
          "files that were begun");
    }
  }

  /** Spark lets shuffles go once nothing on the driver refers to them. */
  private static void awaitEmpty() throws InterruptedException {
    for (int i = 0; i < 300 && StoredBlocks.usedBytes() > 0; i++) {
      System.gc();
      Thread.sleep(100);
    }
    assertEquals(0, StoredBlocks.usedBytes(), "bytes of outputs");
  }

  /** Of the application. */
  static Map<String, String> conf(Path disk) {
    return Map.of(
        "spark.master", "local[2]",
        "spark.local.dir", disk.toString(),
        "spark.ui.enabled", "false",
        "spark.sql.shuffle.partitions", "3");
  }
}
