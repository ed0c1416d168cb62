package org.tilespark.spark;

import java.io.IOException;
import java.nio.file.Path;
import org.apache.spark.api.python.Py4JServer;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.tilespark.spark.options.Metric;

/**
 * Runs a query of each kind in order to load its classes: {@code dev/class-archive} submits this
 * job to a JVM that archives its loaded classes when it ends. The argument is a directory for the
 * job's files.
 */
public final class ArchiveClasses {
  /** A query of a matrix of 2 x 2 blocks; its parameter is the element type. */
  private static final String MATRIX =
      "SELECT 4 * (id div 2) AS row, 4 * (id %% 2) AS col, 4 AS rows, 4 AS cols,"
          + " transform(sequence(1, 16), i -> CAST(i AS %s)) AS values FROM range(0, 4, 1, 2)";

  private final SparkSession spark;
  private final String directory;

  private ArchiveClasses(SparkSession spark, Path directory) {
    this.spark = spark;
    this.directory = directory.toUri().toString();
  }

  /** Runs the queries in the session that spark-submit configures. */
  public static void main(String[] args) throws IOException {
    try (SparkSession spark = SparkSession.builder().getOrCreate()) {
      ArchiveClasses job = new ArchiveClasses(spark, Path.of(args[0]));
      job.files();
      job.sql();
      job.rows();
      // The server that PySpark talks to.
      Py4JServer python = new Py4JServer(spark.sparkContext().getConf());
      python.start();
      python.shutdown();
    }
  }

  private void files() {
    for (String type : new String[] {"FLOAT", "DOUBLE"}) {
      Dataset<Row> m = stored(spark.sql(MATRIX.formatted(type)), "m" + type, "4,4");
      stored(MatrixBlocks.transpose(m), "transposed", "4,4");
      stored(MatrixBlocks.multiply(m, m), "product", "4,4");
      stored(MatrixBlocks.zip(m, m, "a * b + 1"), "zipped", "4,4");
      computed(MatrixBlocks.map(MatrixBlocks.slice(m, "1:7, ::2"), "sqrt(v)"));
      MatrixBlocks.sum(m).collectAsList();
      Dataset<Row> v = stored(spark.sql(volume(type)), "v" + type, "2,4,4").cache();
      computed(VolumeBlocks.sum(v, "x"));
      computed(VolumeBlocks.permute(v, "yzx"));
      stored(VolumeBlocks.pencils(v, "x"), "pencils", "2,4,4");
      computed(VolumeBlocks.ifft(VolumeBlocks.fft(v)));
    }
  }

  private static String volume(String type) {
    return ("SELECT 2 * id AS x, 0L AS y, 0L AS z, 2 AS nx, 4 AS ny, 4 AS nz,"
            + " transform(sequence(1, 32), i -> CAST(i AS %s)) AS values FROM range(0, 4, 1, 2)")
        .formatted(type);
  }

  private void sql() {
    spark.sql(MATRIX.formatted("DOUBLE")).createOrReplaceTempView("m");
    spark.sql("SELECT * FROM matrix_multiply(TABLE(m), TABLE(m))").collectAsList();
    spark.sql("SELECT row, count(*) AS blocks FROM m GROUP BY row ORDER BY blocks").collectAsList();
  }

  private void rows() {
    String file = directory + "/rows.parquet";
    spark
        .sql("SELECT id, array(1F, CAST(id AS FLOAT), 2F) AS features FROM range(0, 8, 1, 2)")
        .write()
        .mode(SaveMode.Overwrite)
        .parquet(file);
    Dataset<Row> m = MatrixBlocks.fromRows(spark.read().parquet(file), "features");
    computed(MatrixBlocks.toRows(MatrixBlocks.standardize(m), "features"));
    computed(MatrixBlocks.knn(m, m, 2, Metric.COSINE));
  }

  private Dataset<Row> stored(Dataset<Row> blocks, String name, String blockShape) {
    String file = directory + "/" + name + ".npy";
    blocks.write().format("npy").mode(SaveMode.Overwrite).save(file);
    return spark.read().format("npy").option("blockShape", blockShape).load(file);
  }

  private static void computed(Dataset<Row> blocks) {
    blocks.write().format("noop").mode(SaveMode.Overwrite).save();
  }
}
