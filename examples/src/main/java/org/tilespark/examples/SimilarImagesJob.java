package org.tilespark.examples;

import static org.apache.spark.sql.functions.avg;
import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.count;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.max;
import static org.apache.spark.sql.functions.min;
import static org.apache.spark.sql.functions.struct;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Random;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.storage.StorageLevel;
import org.tilespark.examples.JobArguments.Option;
import org.tilespark.layout.Shape;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.options.Metric;

/**
 * Classifies images by their nearest neighbours: finds the rows nearest to each of the last rows of
 * a matrix, and takes the label of most neighbours.
 *
 * <p>Exit status: 0 right neighbours, 1 wrong neighbours or failure, 2 bad arguments. The share of
 * right labels is printed and does not affect the exit status.
 */
public final class SimilarImagesJob {
  private static final int SAMPLES = 12;

  /** Greatest numbers of query images, and of neighbours of each, in a figure. */
  private static final int FIGURE_ROWS = 5;

  private static final int FIGURE_NEIGHBOURS = 7;

  private static final JobArguments.Usage USAGE =
      new JobArguments.Usage(
          "similar IMAGES.npy LABELS.npy OUT_DIR [options]",
          """
          Reads the images in the rows of IMAGES.npy and the whole numbers in the column of
          LABELS.npy, finds for each of the last images the nearest ones of those before, and lets
          these vote for its label. Writes neighbours.parquet (image, neighbour, rank, score) and
          guesses.parquet (image, label, guess) into OUT_DIR.

            --queries N             the last images, that are looked for (default: 1000)
            --k N                   neighbours of each (default: 5)
            --metric M              inner, cosine or euclidean (default: cosine)
            --block-shape R,C       rows and columns of a block (default: at most 8 MiB)
            --backend auto|gpu|cpu  who computes (default: auto)
            --figure FILE.png       a figure of some images and their neighbours
            --figure-theme light|dark   the page that it is for (default: light)
            --image-shape R,C       rows and columns of an image (default: a square)
            --seed N                seed of the sample that is checked (default: a new one)
          """,
          List.of("IMAGES.npy", "LABELS.npy", "OUT_DIR"),
          List.of(
              Option.count("queries"),
              Option.count("k"),
              Option.checked("metric", SimilarImagesJob::metric),
              Option.text("block-shape"),
              Option.BACKEND,
              FigureOption.FIGURE,
              FigureOption.THEME,
              ImageShape.OPTION,
              Option.SEED));

  private SimilarImagesJob() {}

  /** Runs the job under spark-submit. */
  public static void main(String[] args) {
    System.exit(run(args, System.out, System.err));
  }

  static int run(String[] args, PrintStream out, PrintStream err) {
    return ExampleJob.run(USAGE, args, SimilarImagesJob::run, out, err);
  }

  private static Metric metric(String word) {
    return Arrays.stream(Metric.values())
        .filter(metric -> metric.name().equalsIgnoreCase(word))
        .findFirst()
        .orElseThrow(() -> new IllegalArgumentException("expected inner, cosine or euclidean"));
  }

  private static boolean run(SparkSession spark, JobArguments arguments, PrintStream out)
      throws IOException {
    Path images = arguments.inputFile(0);
    Path labels = arguments.inputFile(1);
    Path directory = arguments.outputDirectory(2);
    Metric metric = metric(arguments.option("metric").orElse("cosine"));
    int k = arguments.count("k", 5);
    Optional<FigureOption> figure = FigureOption.of(arguments);
    JobReport report = new JobReport(out);

    Dataset<Row> matrix =
        spark
            .read()
            .format("npy")
            .options(arguments.given("block-shape", "blockShape"))
            .option("as", "float")
            .load(JobArguments.uri(images));
    report.read(images, matrix);
    Shape shape = shape(matrix);
    Optional<int[]> imageShape = ImageShape.of(arguments, Math.toIntExact(shape.extent(1)));
    if (figure.isPresent() && imageShape.isEmpty()) {
      throw new IllegalArgumentException(
          "Option --figure needs the shape of an image: "
              + shape.extent(1)
              + " numbers are no square; say --image-shape ROWS,COLUMNS");
    }
    long queries = Math.min(shape.extent(0) - 1, arguments.count("queries", 1000));
    long known = shape.extent(0) - queries;

    long start = System.nanoTime();
    Dataset<Row> found =
        MatrixBlocks.knn(
            MatrixBlocks.slice(matrix, known + ":"),
            MatrixBlocks.slice(matrix, ":" + known),
            k,
            metric);
    report.plan(found);
    Dataset<Row> neighbours =
        found
            .withColumn("image", col("query").plus(known))
            .drop("query")
            .persist(StorageLevel.MEMORY_AND_DISK());
    neighbours
        .write()
        .mode(SaveMode.Overwrite)
        .parquet(JobArguments.uri(directory.resolve("neighbours.parquet")));
    report.line(
        "neighbours",
        "%,d of each of %,d images among %,d, by %s, in %.2f s",
        k,
        queries,
        known,
        metric,
        (System.nanoTime() - start) / 1e9);

    Dataset<Row> guesses =
        guesses(neighbours, labels(spark, labels)).persist(StorageLevel.MEMORY_AND_DISK());
    guesses
        .write()
        .mode(SaveMode.Overwrite)
        .parquet(JobArguments.uri(directory.resolve("guesses.parquet")));
    Dataset<Row> isRight = guesses.withColumn("right", col("label").equalTo(col("guess")));
    for (Row label :
        isRight.groupBy("label").agg(share(), count(lit(1))).orderBy("label").collectAsList()) {
      report.line(
          "label " + label.get(0), "%.3f of %,d images", label.getDouble(1), label.getLong(2));
    }
    report.line("accuracy", "%.3f", isRight.agg(share()).first().getDouble(0));

    if (figure.isPresent()) {
      NeighboursFigure.write(
          images, labels, imageShape.get(), metric, some(neighbours, known, queries), figure.get());
      report.line("drew", "%s", figure.get().file());
    }

    String defect = check(images, neighbours, metric, known, arguments.seed());
    report.line("check", "%s", defect == null ? "right" : "WRONG: " + defect);
    guesses.unpersist();
    neighbours.unpersist();
    return defect == null;
  }

  /** Collects some query images, evenly spaced, with their nearest neighbours. */
  private static List<NeighboursFigure.Query> some(
      Dataset<Row> neighbours, long known, long queries) {
    int count = (int) Math.min(queries, FIGURE_ROWS);
    List<NeighboursFigure.Query> some = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      long image = known + i * queries / count;
      some.add(
          new NeighboursFigure.Query(
              image,
              neighbours
                  .where(col("image").equalTo(image).and(col("rank").leq(FIGURE_NEIGHBOURS)))
                  .orderBy("rank")
                  .collectAsList()
                  .stream()
                  .map(
                      row ->
                          new NeighboursFigure.Neighbour(
                              row.<Long>getAs("neighbour"), row.<Double>getAs("score")))
                  .toList()));
    }
    return some;
  }

  private static Shape shape(Dataset<Row> matrix) {
    return ArrayMetadata.of(matrix.schema().apply(BlockKind.VALUES).metadata())
        .extents(2)
        .orElseThrow();
  }

  private static org.apache.spark.sql.Column share() {
    return avg(col("right").cast("int"));
  }

  /** Returns a DataFrame with each image's row number and label. */
  private static Dataset<Row> labels(SparkSession spark, Path file) {
    Dataset<Row> blocks = spark.read().format("npy").load(JobArguments.uri(file));
    return MatrixBlocks.toCells(blocks).select(col("row"), col("value").cast("int").as("label"));
  }

  /**
   * The most frequent label among an image's neighbours; in a tie, the label with the nearest
   * neighbour.
   */
  private static Dataset<Row> guesses(Dataset<Row> neighbours, Dataset<Row> labels) {
    return neighbours
        .join(labels, col("neighbour").equalTo(col("row")))
        .groupBy("image", "label")
        .agg(count(lit(1)).as("votes"), min("rank").as("nearest"))
        .groupBy("image")
        .agg(max(struct(col("votes"), col("nearest").multiply(-1), col("label"))).as("most"))
        .select(col("image"), col("most.label").as("guess"))
        .join(labels, col("image").equalTo(col("row")))
        .select("image", "label", "guess");
  }

  /**
   * Returns a defect, or null: recomputes all scores of some query images from the file in double.
   * Neighbours with equal scores may come in any order.
   */
  private static String check(
      Path file, Dataset<Row> neighbours, Metric metric, long known, long seed) throws IOException {
    Random random = new Random(seed);
    try (NpyElements images = NpyElements.open(file)) {
      long[] sample = new long[SAMPLES];
      double[][] queries = new double[SAMPLES][];
      for (int i = 0; i < SAMPLES; i++) {
        sample[i] = known + random.nextLong(images.shape()[0] - known);
        queries[i] = row(images, sample[i]);
      }
      double[][] all = new double[SAMPLES][Math.toIntExact(known)];
      for (int other = 0; other < known; other++) {
        double[] row = row(images, other);
        for (int i = 0; i < SAMPLES; i++) {
          all[i][other] = score(queries[i], row, metric);
        }
      }
      for (int i = 0; i < SAMPLES; i++) {
        long image = sample[i];
        double[] scores = all[i];
        double[] best = scores.clone();
        Arrays.sort(best); // distances: best first; other scores: best last
        for (Row found : neighbours.where("image = " + image).orderBy("rank").collectAsList()) {
          int rank = found.<Number>getAs("rank").intValue();
          double expected = best[metric == Metric.EUCLIDEAN ? rank - 1 : best.length - rank];
          double claimed = found.<Double>getAs("score");
          double own = scores[found.<Long>getAs("neighbour").intValue()];
          double tolerance = 1e-9 * Math.max(1, Math.abs(expected));
          if (!(Math.abs(claimed - expected) <= tolerance
              && Math.abs(own - claimed) <= tolerance)) {
            return String.format(
                Locale.ROOT,
                "neighbour %d of image %d is %s with score %s, which is %s; expected %s (seed %d)",
                rank,
                image,
                found.getAs("neighbour"),
                claimed,
                own,
                expected,
                seed);
          }
        }
      }
    }
    return null;
  }

  private static double[] row(NpyElements images, long row) throws IOException {
    double[] values = new double[Math.toIntExact(images.shape()[1])];
    for (int i = 0; i < values.length; i++) {
      values[i] = images.number(row, i);
    }
    return values;
  }

  private static double score(double[] a, double[] b, Metric metric) {
    double product = 0;
    double squares = 0;
    double squaresOfA = 0;
    double squaresOfB = 0;
    for (int i = 0; i < a.length; i++) {
      product += a[i] * b[i];
      squares += (a[i] - b[i]) * (a[i] - b[i]);
      squaresOfA += a[i] * a[i];
      squaresOfB += b[i] * b[i];
    }
    return switch (metric) {
      case INNER -> product;
      case COSINE -> product / Math.sqrt(squaresOfA * squaresOfB);
      case EUCLIDEAN -> Math.sqrt(squares);
    };
  }
}
