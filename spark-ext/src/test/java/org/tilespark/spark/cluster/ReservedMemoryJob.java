package org.tilespark.spark.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.shuffle.StoredBlocks;

/**
 * An application that exchanges a matrix of 384 MiB several times, and prints the most memory that
 * its process ever had.
 */
public final class ReservedMemoryJob {
  private static final int BLOCKS = 384;
  private static final int BLOCK_ELEMENTS = 512 * 512; // 1 MiB
  private static final int ROUNDS = 3;

  private ReservedMemoryJob() {}

  public static void main(String[] args) throws IOException {
    try (SparkSession spark = SparkSession.builder().getOrCreate()) {
      // A block is full of its number, so that sums are whole numbers, and exact.
      Dataset<Row> blocks =
          spark
              .range(0, BLOCKS, 1, 8)
              .selectExpr(
                  "(id div 24) * 512 as row",
                  "(id % 24) * 512 as col",
                  "512 as rows",
                  "512 as cols",
                  "array_repeat(cast(id as float), " + BLOCK_ELEMENTS + ") as values");
      for (int round = 0; round < ROUNDS; round++) {
        double sum =
            MatrixBlocks.reblock(blocks, 640, 384)
                .selectExpr("aggregate(values, 0D, (a, x) -> a + x) as part")
                .selectExpr("sum(part)")
                .head()
                .getDouble(0);
        assertEquals((double) BLOCK_ELEMENTS * BLOCKS * (BLOCKS - 1) / 2, sum);
      }
      assertTrue(StoredBlocks.committed() > 0, "nothing was exchanged in memory");
    }
    Files.readAllLines(Path.of("/proc/self/status")).stream()
        .filter(line -> line.startsWith("VmHWM"))
        .forEach(System.out::println);
  }
}
