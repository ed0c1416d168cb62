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
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.error.ErrorCondition;
import org.tilespark.spark.error.TileSparkThrowable;
import org.tilespark.spark.shuffle.StoredBlocks;
import org.tilespark.spark.testing.TestArray;

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
            TestArray.matrix(ElementType.FLOAT32, 240, 180, 50, 70)
                .assertPermuted(Permutation.of(0, 1), reblocked(spark, 240, 180, 50, 70));
            awaitEmpty();
          });
    }
    cases.end();
  }

  private static Dataset<Row> reblocked(
      SparkSession spark, int rows, int cols, int blockRows, int blockCols) {
    Dataset<Row> blocks =
        TestArray.matrix(ElementType.FLOAT32, rows, cols, 240, 180)
            .toDataFrame(spark, 2)
            .drop("tag");
    // What the blocks themselves are shuffled by is small: they are compressed.
    return MatrixBlocks.reblock(blocks, blockRows, blockCols)
        .selectExpr("*", "cast(null AS STRING) AS tag");
  }

  private static void fails(SparkSession spark, Path disk) throws Exception {
    Exception failure =
        assertThrows(Exception.class, () -> reblocked(spark, 2400, 1800, 500, 700).count());
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
