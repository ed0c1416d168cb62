package org.tilespark.spark.shuffle;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.Test;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestArray;

/** Ways in which adaptive execution of Spark reads a shuffle, each of one that memory serves. */
class AdaptiveExchangeTest extends SparkTest {
  private static final int MAPS = 5;

  /** 60 blocks that are all at row 0. */
  private static final TestArray WIDE = TestArray.matrix(ElementType.FLOAT32, 8, 360, 8, 6);

  /** Two blocks, one of them at row 0. */
  private static final TestArray NARROW = TestArray.matrix(ElementType.FLOAT32, 16, 6, 8, 6);

  /**
   * Transposed, so that what is at row 0 is at column 0. No stage comes before: both sides of a
   * join are shuffled before adaptive execution looks at them.
   */
  private static Dataset<Row> ours(TestArray array) {
    Dataset<Row> blocks = array.toDataFrame(spark, MAPS);
    return MatrixBlocks.transpose(spark.createDataFrame(blocks.toJavaRDD(), blocks.schema()));
  }

  /** Each block of the one joined to the block of the other at its column: at 0. */
  private static Dataset<Row> joined() {
    Dataset<Row> right = ours(NARROW).select(col("col").as("key"), col("rows").as("height"));
    return ours(WIDE).join(right, col("col").equalTo(col("key")));
  }

  private static String planAfter(Dataset<Row> df) {
    return plan(df).executedPlan().toString();
  }

  /** Checks the wide blocks, and that memory served as many outputs. */
  private static String assertOurs(int outputs, Dataset<Row> df) {
    long before = StoredBlocks.committed();
    WIDE.assertPermuted(Permutation.of(1, 0), df);
    assertEquals(before + outputs, StoredBlocks.committed(), () -> planAfter(df));
    return planAfter(df);
  }

  /** One partition has all rows: several tasks read it, each the outputs of some map tasks. */
  @Test
  void skewedJoinsAreSplit() {
    with(
        Map.of(
            "spark.sql.constraintPropagation.enabled", "false", // or filters come between
            "spark.sql.autoBroadcastJoinThreshold", "-1",
            "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes", "1k",
            "spark.sql.adaptive.advisoryPartitionSizeInBytes", "4k"),
        () -> {
          String plan = assertOurs(MAPS, joined());
          assertTrue(plan.contains("isSkew") || plan.contains("skew=true"), plan);
        });
  }

  /** Tasks read what tasks of their own executor wrote, since the join needs no partitions. */
  @Test
  void joinsThatBecomeBroadcastsReadLocally() {
    with(
        Map.of(
            "spark.sql.constraintPropagation.enabled", "false",
            "spark.sql.autoBroadcastJoinThreshold", "-1",
            "spark.sql.adaptive.autoBroadcastJoinThreshold", "10m"),
        () -> {
          String plan = assertOurs(MAPS, joined());
          assertTrue(plan.contains("AQEShuffleRead local"), plan);
        });
  }

  @Test
  void smallPartitionsAreReadTogether() {
    with(
        Map.of("spark.sql.adaptive.coalescePartitions.initialPartitionNum", "9"),
        () -> {
          Dataset<Row> df = ours(WIDE).repartition(col("row"));
          String plan = assertOurs(MAPS, df);
          assertTrue(plan.contains("AQEShuffleRead coalesced"), plan);
        });
  }

  @Test
  void largePartitionsAreSplitWhereTheyNeedNotStay() {
    with(
        Map.of(
            "spark.sql.adaptive.advisoryPartitionSizeInBytes", "4k",
            "spark.sql.adaptive.coalescePartitions.enabled", "false"),
        () -> {
          String plan = assertOurs(MAPS, ours(WIDE).hint("rebalance", col("col")));
          assertTrue(plan.contains("AQEShuffleRead"), plan);
        });
  }

  /** Each half of the rows comes from a plan of its own, right above a node of ours. */
  @Test
  void unionsOfOursAreOurs() {
    Dataset<Row> blocks = WIDE.toDataFrame(spark, MAPS);
    Dataset<Row> halves =
        MatrixBlocks.transpose(blocks.where("col < 180"))
            .union(MatrixBlocks.transpose(blocks.where("col >= 180")));
    assertOurs(2 * MAPS, halves.repartition(3, col("row")));
  }
}
