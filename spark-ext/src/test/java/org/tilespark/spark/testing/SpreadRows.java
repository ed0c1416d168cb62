package org.tilespark.spark.testing;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.StructType;

/** Rows of tests in several partitions. */
public final class SpreadRows {
  private SpreadRows() {}

  /**
   * The rows in some order, in as many partitions as are asked for. In a local session no exchange
   * makes up to as many as there are cores: one for each query of each test would take half of
   * their time. On a cluster the rows of all executors come by one.
   */
  public static Dataset<Row> of(
      SparkSession spark, List<Row> rows, StructType schema, int partitions) {
    List<Row> mixed = new ArrayList<>(rows);
    Collections.shuffle(mixed, new Random(rows.size()));
    Dataset<Row> frame = spark.createDataFrame(mixed, schema);
    return spark.sparkContext().isLocal() && partitions <= spark.sparkContext().defaultParallelism()
        ? frame.coalesce(partitions)
        : frame.repartition(partitions);
  }
}
