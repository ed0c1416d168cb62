package org.tilespark.spark.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.shuffle.StoredBlocks;

/**
 * An application that re-blocks a matrix of three times the memory for that, in turns with Spark's
 * own shuffle. Arguments: a file for the matrix, and its size in MiB.
 */
public final class SpillJob {
  private static final int ROUNDS = 4;
  private static final double MOST = 1.3;

  private SpillJob() {}

  public static void main(String[] args) throws IOException {
    try (SparkSession spark = SparkSession.builder().getOrCreate()) {
      int mib = Integer.parseInt(args[1]);
      spark
          .range(0, mib, 1, 8)
          .selectExpr(
              "(id div 24) * 512 as row",
              "(id % 24) * 512 as col",
              "512 as rows",
              "512 as cols",
              // Nothing that a codec makes smaller by much.
              "transform(sequence(1, 512 * 512), i -> cast(hash(id, i) as float)) as values")
          .write()
          .format("npy")
          .mode(SaveMode.Overwrite)
          .save(args[0]);
      Dataset<Row> matrix =
          spark.read().format("npy").option("blockShape", "512,512").load(args[0]);
      long[] leastNanos = {Long.MAX_VALUE, Long.MAX_VALUE};
      long[] sums = new long[2];
      String[] modes = {"memory", "spark"};
      for (int round = 0; round < ROUNDS; round++) {
        for (int mode = 0; mode < modes.length; mode++) {
          spark.conf().set(TileSparkConf.EXCHANGE_MODE.name(), modes[mode]);
          Dataset<Row> reblocked = MatrixBlocks.reblock(matrix, 640, 384);
          long start = System.nanoTime();
          if (round == 0) {
            sums[mode] = sum(reblocked);
          } else {
            reblocked.write().format("noop").mode(SaveMode.Overwrite).save();
            leastNanos[mode] = Math.min(leastNanos[mode], System.nanoTime() - start);
          }
          System.gc(); // so that Spark removes the shuffle
        }
      }
      assertEquals(sums[1], sums[0], "sums of hashes");
      long spilled = StoredBlocks.store().spilledBytes();
      double ratio = (double) leastNanos[0] / leastNanos[1];
      System.out.printf(
          "spills: %d MiB in %.2f s, Spark's shuffle %.2f s, ratio %.2f; in %d rounds %d MiB went"
              + " from memory to files%n",
          mib, leastNanos[0] / 1e9, leastNanos[1] / 1e9, ratio, ROUNDS, spilled >> 20);
      assertTrue(spilled > 0, "nothing was spilled");
      assertTrue(ratio <= MOST, () -> "ratio " + ratio + ", at most " + MOST + " is allowed");
    }
  }

  /** Of hashes of all blocks, their values and their places, whatever their order. */
  private static long sum(Dataset<Row> blocks) {
    return blocks
        .selectExpr("hash(row, col, rows, cols, values) as part")
        .selectExpr("sum(cast(part as bigint))")
        .head()
        .getLong(0);
  }
}
