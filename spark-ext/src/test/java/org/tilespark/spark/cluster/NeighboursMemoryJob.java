package org.tilespark.spark.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.options.Metric;

/**
 * Nearest neighbours and near pairs of vectors whose product, 1.5 GiB, is larger than all memory of
 * the process; prints the most that it ever had.
 */
public final class NeighboursMemoryJob {
  private static final int VECTORS = 20_000;

  private NeighboursMemoryJob() {}

  public static void main(String[] args) throws IOException {
    try (SparkSession spark = SparkSession.builder().getOrCreate()) {
      // On a line, so that the nearest of each is itself, then its neighbour.
      Dataset<Row> vectors =
          MatrixBlocks.fromRows(
              spark.range(0, VECTORS, 1, 4).selectExpr("array(float(id), 0F, 1F) AS v"), "v");
      Dataset<Row> nearest = MatrixBlocks.knn(vectors, vectors, 2, Metric.EUCLIDEAN);
      assertEquals(VECTORS, nearest.where("score = 0 AND query = neighbour").count());
      Dataset<Row> pairs = MatrixBlocks.pairsAbove(vectors, vectors, 1, Metric.EUCLIDEAN);
      assertEquals(3L * VECTORS - 2, pairs.count());
    }
    Files.readAllLines(Path.of("/proc/self/status")).stream()
        .filter(line -> line.startsWith("VmHWM"))
        .forEach(System.out::println);
  }
}
