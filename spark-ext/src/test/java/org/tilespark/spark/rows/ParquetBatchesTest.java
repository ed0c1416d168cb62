package org.tilespark.spark.rows;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.testing.SparkTest;

/** How many rows Spark's vectorized Parquet reader takes at once. */
class ParquetBatchesTest extends SparkTest {
  @TempDir Path directory;

  /** Ten blocks of 2 x 3 of a matrix of 20 x 3. */
  private static Dataset<Row> blocks() {
    return spark
        .range(0, 10, 1, 1)
        .selectExpr(
            "id * 2 AS row",
            "0L AS col",
            "2 AS rows",
            "3 AS cols",
            "transform(sequence(1, 6), e -> float(e + id)) AS values");
  }

  @Test
  void fewWhereTheSizeOfBlocksIsUnknown() {
    assumeSparkAsks();
    Dataset<Row> read = written(blocks());
    assertEquals(List.of(4, 4, 2), batches(read));
    assertEquals(List.of(4, 4, 2), batches(read.select("values")));
    assertEquals(blocks().collectAsList(), read.orderBy("row").collectAsList());
    assertEquals(10, read.count());
  }

  @Test
  void asManyAsFitWhereItIsKnown() {
    assumeSparkAsks();
    // Metadata alone says it: one block of 64 MiB, eight of 4 MiB, 1024 of 32 KiB.
    assertEquals(Collections.nCopies(10, 1), batches(written(stated(blocks(), "4096,4096"))));
    assertEquals(List.of(10), batches(written(stated(blocks(), "64,128"))));
    assertEquals(List.of(8, 2), batches(written(stated(blocks(), "1024,1024"))));
  }

  @Test
  void sparksOwnWhereThereAreNoBlocks() {
    assertEquals(List.of(10), batches(written(blocks().drop("cols"))));
    assertEquals(List.of(10), batches(written(blocks().withColumn("values", col("row")))));
  }

  @Test
  void theUsersWhereItIsLess() {
    assumeSparkAsks();
    Dataset<Row> read = written(blocks());
    spark.conf().set("spark.sql.parquet.columnarReaderBatchSize", "3");
    try {
      assertEquals(List.of(3, 3, 3, 1), batches(read.select("*")));
    } finally {
      spark.conf().unset("spark.sql.parquet.columnarReaderBatchSize");
    }
  }

  /** Operators find the same blocks. */
  @Test
  void operatorsReadThem() {
    assertEquals(
        MatrixBlocks.sum(blocks()).collectAsList(),
        MatrixBlocks.sum(written(blocks())).collectAsList());
  }

  private static Dataset<Row> stated(Dataset<Row> blocks, String shape) {
    return blocks.withColumn(
        "values",
        blocks
            .col("values")
            .as("values", Metadata.fromJson("{\"tilespark.blockShape\":\"" + shape + "\"}")));
  }

  private Dataset<Row> written(Dataset<Row> rows) {
    String path = directory.resolve("t" + System.nanoTime()).toString();
    rows.write().parquet(path);
    return spark.read().parquet(path);
  }

  /** Rows of each batch of the one scan. */
  private static List<Integer> batches(Dataset<Row> df) {
    SparkPlan plan = ((org.apache.spark.sql.classic.Dataset<Row>) df).queryExecution().sparkPlan();
    FileSourceScanExec scan =
        (FileSourceScanExec) ScalaInterop.<SparkPlan>list(plan.collectLeaves()).get(0);
    assertTrue(scan.supportsColumnar());
    return scan.executeColumnar().toJavaRDD().map(ColumnarBatch::numRows).collect();
  }

  /** Spark 4.0 does not ask the format. */
  private static void assumeSparkAsks() {
    Assumptions.assumeFalse(spark.version().startsWith("4.0."), "Spark 4.0 asks the session");
  }
}
