package org.tilespark.bench.spark;

import java.io.PrintStream;
import java.util.List;
import java.util.Locale;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.tilespark.bench.spark.GeneratedMatrix.Content;
import org.tilespark.examples.JobArguments;
import org.tilespark.examples.JobArguments.Option;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.conf.Backend;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.options.Metric;
import org.tilespark.spark.runtime.ExecutorRuntime;

/**
 * Measures nearest neighbours of cached queries among cached vectors, to the noop sink, on the GPU
 * and on the CPU. Checks the neighbours of some queries with plain loops.
 */
public final class NeighboursBenchmark extends SparkBenchmark {
  private static final JobArguments.Usage USAGE =
      new JobArguments.Usage(
          "neighbours-bench [options]",
          """
          Measures nearest neighbours among generated vectors.

            --commit ID               what is measured, for the head of the output
            --shape M,K,N             M queries and N vectors of K elements (default: 5000,128,50000)
            --type float|double       (default: float)
            --nearest N               neighbours of each query (default: 10)
            --metric WORD             inner, cosine, euclidean (default: inner)
            --block-rows N            vectors of a block (default: 8192)
            --partitions N            of the vectors (default: one for each core)
            --backend gpu|cpu         (default: gpu where there is one)
            --warmups N, --rounds N   queries before the measured ones, and those (default: 1, 3)
            --seed N                  seed of the elements (default: a new one)
          """,
          List.of(),
          List.of(
              Option.text("commit"),
              Option.text("shape"),
              Option.text("type"),
              Option.checked("nearest", Integer::parseInt),
              Option.checked("metric", word -> Metric.valueOf(word.toUpperCase(Locale.ROOT))),
              Option.checked("block-rows", Integer::parseInt),
              Option.checked("partitions", Integer::parseInt),
              Option.text("backend"),
              Option.checked("warmups", Integer::parseInt),
              Option.checked("rounds", Integer::parseInt),
              Option.SEED));

  private static final int CHECKED_QUERIES = 3;

  private final GeneratedMatrix queries;
  private final GeneratedMatrix vectors;
  private final int nearest;
  private final Metric metric;

  private NeighboursBenchmark(SparkSession spark, JobArguments arguments, PrintStream out) {
    super(spark, arguments, out);
    String[] shape = arguments.option("shape").orElse("5000,128,50000").split(",");
    int extent = Integer.parseInt(shape[1]);
    ElementType type =
        arguments.option("type").orElse("float").equals("float")
            ? ElementType.FLOAT32
            : ElementType.FLOAT64;
    int rows = arguments.option("block-rows").map(Integer::parseInt).orElse(8192);
    long seed = arguments.seed();
    this.queries =
        new GeneratedMatrix(
            Long.parseLong(shape[0]), extent, rows, extent, type, Content.FRACTIONS, seed);
    this.vectors =
        new GeneratedMatrix(
            Long.parseLong(shape[2]), extent, rows, extent, type, Content.FRACTIONS, seed + 1);
    this.nearest = arguments.option("nearest").map(Integer::parseInt).orElse(10);
    this.metric =
        Metric.valueOf(arguments.option("metric").orElse("inner").toUpperCase(Locale.ROOT));
  }

  /** Runs the benchmark under spark-submit. */
  public static void main(String[] args) {
    System.exit(run(args, System.out, System.err));
  }

  static int run(String[] args, PrintStream out, PrintStream err) {
    return run(USAGE, args, NeighboursBenchmark::new, out, err);
  }

  @Override
  boolean run() throws InterruptedException {
    ExecutorRuntime runtime = ExecutorRuntime.current();
    var gpu = runtime.gpu(Backend.AUTO, null);
    String backend = arguments.option("backend").orElse(gpu.isPresent() ? "gpu" : "cpu");
    report.line("machine", "%s", SparkMachine.describe(spark, gpu, arguments));
    report.line(
        "data",
        "%d of %d vectors by %s for %d queries, of %d elements of %s",
        nearest,
        vectors.rows(),
        metric,
        queries.rows(),
        vectors.cols(),
        vectors.type());
    int partitions =
        arguments
            .option("partitions")
            .map(Integer::parseInt)
            .orElse(spark.sparkContext().defaultParallelism());
    Dataset<Row> q = queries.read(spark, 1).persist();
    Dataset<Row> d = vectors.read(spark, partitions).persist();
    try {
      noop(q);
      noop(d);
      spark.conf().set(TileSparkConf.BACKEND.name(), backend);
      Dataset<Row> found = MatrixBlocks.knn(q, d, nearest, metric);
      boolean right = isRight(found);
      Times times = Times.measure(backend, arguments, () -> noop(found));
      reported(backend, found);
      report.line(
          backend,
          "%.3f s (%.3f to %.3f), %s",
          times.median(),
          times.least(),
          times.most(),
          right ? "right" : "WRONG");
      return right;
    } finally {
      spark.conf().unset(TileSparkConf.BACKEND.name());
      q.unpersist(true);
      d.unpersist(true);
    }
  }

  /** Checks the best scores of some queries with plain loops. */
  private boolean isRight(Dataset<Row> found) {
    boolean right = true;
    for (Row row : found.where("rank = 1 AND query < " + CHECKED_QUERIES).collectAsList()) {
      long query = row.getLong(0);
      double best = Double.NaN;
      for (long i = 0; i < vectors.rows(); i++) {
        double score = score(query, i);
        boolean nearer = metric == Metric.EUCLIDEAN ? score < best : score > best;
        best = nearer || Double.isNaN(best) ? score : best;
      }
      right &= best == row.getDouble(3) && score(query, row.getLong(1)) == best;
    }
    return right;
  }

  private double score(long query, long vector) {
    double dot = 0;
    double ofQuery = 0;
    double ofVector = 0;
    double squares = 0;
    for (long k = 0; k < vectors.cols(); k++) {
      double x = queries.value(query, k);
      double y = vectors.value(vector, k);
      dot += x * y;
      ofQuery += x * x;
      ofVector += y * y;
      squares += (x - y) * (x - y);
    }
    return switch (metric) {
      case INNER -> dot;
      case COSINE -> dot / (Math.sqrt(ofQuery) * Math.sqrt(ofVector));
      case EUCLIDEAN -> Math.sqrt(squares);
    };
  }
}
