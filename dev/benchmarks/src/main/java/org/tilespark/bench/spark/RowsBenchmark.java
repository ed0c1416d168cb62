package org.tilespark.bench.spark;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.FileUtil;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.mllib.linalg.Matrix;
import org.apache.spark.mllib.linalg.Vector;
import org.apache.spark.mllib.linalg.Vectors;
import org.apache.spark.mllib.linalg.distributed.RowMatrix;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.storage.StorageLevel;
import org.tilespark.examples.JobArguments;
import org.tilespark.examples.JobArguments.Option;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.conf.Backend;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.options.RowOptions;
import org.tilespark.spark.runtime.ExecutorRuntime;

/**
 * Measures a table of vectors in Parquet or in the cache: reading it, converting it to blocks, its
 * covariance, and the covariance by MLlib's RowMatrix.
 */
public final class RowsBenchmark extends SparkBenchmark {
  private static final JobArguments.Usage USAGE =
      new JobArguments.Usage(
          "rows-bench [options]",
          """
          Measures what is made of a table of vectors of FLOAT.

            --commit ID               what is measured, for the head of the output
            --shape N,K               N rows of vectors of K elements (default: 200000,256)
            --source parquet|cached   where the table lies (default: parquet)
            --cases A,B,...           of read, blocks, cov, mllib (default: all)
            --backend gpu|cpu         (default: gpu where there is one)
            --warmups N, --rounds N   queries before the measured ones, and those (default: 1, 3)
            --seed N                  seed of the elements (default: a new one)
          """,
          List.of(),
          List.of(
              Option.text("commit"),
              Option.text("shape"),
              Option.text("source"),
              Option.text("cases"),
              Option.text("backend"),
              Option.checked("warmups", Integer::parseInt),
              Option.checked("rounds", Integer::parseInt),
              Option.SEED));

  /** Greatest difference of two covariances, relative to the largest element. */
  private static final double TOLERANCE = 1e-5;

  private RowsBenchmark(SparkSession spark, JobArguments arguments, PrintStream out) {
    super(spark, arguments, out);
  }

  /** Runs the benchmark under spark-submit. */
  public static void main(String[] args) {
    System.exit(run(args, System.out, System.err));
  }

  static int run(String[] args, PrintStream out, PrintStream err) {
    return run(USAGE, args, RowsBenchmark::new, out, err);
  }

  @Override
  boolean run() throws IOException, InterruptedException {
    var gpu = ExecutorRuntime.current().gpu(Backend.AUTO, null);
    String backend = arguments.option("backend").orElse(gpu.isPresent() ? "gpu" : "cpu");
    String[] shape = arguments.option("shape").orElse("200000,256").split(",");
    boolean cached = arguments.option("source").orElse("parquet").equals("cached");
    report.line("machine", "%s", SparkMachine.describe(spark, gpu, arguments));
    report.line(
        "data", "%s vectors of %s FLOAT, %s", shape[0], shape[1], cached ? "cached" : "Parquet");
    Path folder = Files.createTempDirectory("tilespark-rows");
    Dataset<Row> made =
        spark
            .range(0, Long.parseLong(shape[0]), 1, 2 * spark.sparkContext().defaultParallelism())
            .selectExpr(
                "transform(sequence(0, %d), j -> CAST(sin(id * 5 + j + %d) AS FLOAT)) AS features"
                    .formatted(Integer.parseInt(shape[1]) - 1, arguments.seed() % 1000));
    Dataset<Row> table;
    if (cached) {
      table = made.persist(StorageLevel.MEMORY_ONLY());
    } else {
      String path = folder.resolve("table").toString();
      made.write().parquet(path);
      table = spark.read().parquet(path);
    }
    spark.conf().set(TileSparkConf.BACKEND.name(), backend);
    try {
      noop(table);
      Dataset<Row> blocks = MatrixBlocks.fromRows(table, "features", RowOptions.defaults());
      Dataset<Row> covariance = MatrixBlocks.cov(blocks);
      Map<String, Times.Timed> cases = new LinkedHashMap<>();
      cases.put("read", () -> noop(table));
      cases.put("blocks", () -> noop(blocks));
      cases.put("cov", () -> noop(covariance));
      cases.put("mllib", () -> byMllib(table));
      for (String name :
          arguments.option("cases").orElse(String.join(",", cases.keySet())).split(",")) {
        Times.Timed timed = cases.get(name);
        if (timed == null) {
          throw new IllegalArgumentException(
              "There is no case " + name + "; expected some of " + cases.keySet());
        }
        report.line(name, "%s", Times.measure(name, arguments, timed).described());
      }
      return isRight(covariance, byMllib(table));
    } finally {
      spark.conf().unset(TileSparkConf.BACKEND.name());
      table.unpersist(true);
      FileUtil.fullyDelete(folder.toFile());
    }
  }

  private static Matrix byMllib(Dataset<Row> table) {
    JavaRDD<Vector> rows =
        table
            .javaRDD()
            .map(
                row -> {
                  List<Float> floats = row.getList(0);
                  double[] values = new double[floats.size()];
                  for (int i = 0; i < values.length; i++) {
                    values[i] = floats.get(i);
                  }
                  return Vectors.dense(values);
                });
    return new RowMatrix(rows.rdd()).computeCovariance();
  }

  /** Checks that the covariance agrees with MLlib's. */
  private boolean isRight(Dataset<Row> covariance, Matrix expected) {
    double most = 0;
    for (double value : expected.toArray()) {
      most = Math.max(most, Math.abs(value));
    }
    double apart = 0;
    for (Row block : covariance.collectAsList()) {
      int rows = block.getAs("rows");
      int cols = block.getAs("cols");
      long top = block.getAs("row");
      long left = block.getAs("col");
      List<? extends Number> values = block.getList(block.fieldIndex(BlockKind.VALUES));
      for (int i = 0; i < rows * cols; i++) {
        double value = expected.apply((int) top + i / cols, (int) left + i % cols);
        apart = Math.max(apart, Math.abs(values.get(i).doubleValue() - value));
      }
    }
    boolean right = apart <= TOLERANCE * most;
    report.line("check", "at most %.1e of MLlib's: %s", apart / most, right ? "right" : "WRONG");
    return right;
  }
}
