package org.tilespark.examples;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.tilespark.examples.JobArguments.Option;
import org.tilespark.layout.Shape;
import org.tilespark.spark.Lstsq;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.block.ArrayMetadata;

/**
 * Fits a linear classifier by least squares: weights X for which {@code A X} is near 1 in the
 * column of a row's label, and near 0 in the other columns.
 *
 * <p>Exit status: 0 right answer, 1 wrong answer or failure, 2 bad arguments.
 */
public final class LeastSquaresJob {
  private static final int MOST_LABELS = 1000;

  private static final JobArguments.Usage USAGE =
      new JobArguments.Usage(
          "lstsq IN.npy LABELS.npy OUT_DIR [options]",
          """
          Reads the matrix in IN.npy, each row one observation, and a whole number from 0 for each
          in LABELS.npy. Finds the weights of the features that tell the labels best in the sense
          of least squares, and writes them to OUT_DIR/weights.npy, a column for each label.

            --block-shape R,C       rows and columns of a block (default: at most 8 MiB)
            --backend auto|gpu|cpu  who computes (default: auto)
            --figure FILE.png       a figure: the weights of each label as images
            --figure-theme light|dark   the page that it is for (default: light)
            --image-shape R,C       the image that an observation is (default: a square)
            --seed N                seed of the sample that is checked (default: a new one)
          """,
          List.of("IN.npy", "LABELS.npy", "OUT_DIR"),
          List.of(
              ImageShape.OPTION,
              Option.text("block-shape"),
              Option.BACKEND,
              FigureOption.FIGURE,
              FigureOption.THEME,
              Option.SEED));

  private LeastSquaresJob() {}

  /** Runs the job under spark-submit. */
  public static void main(String[] args) {
    System.exit(run(args, System.out, System.err));
  }

  static int run(String[] args, PrintStream out, PrintStream err) {
    return ExampleJob.run(USAGE, args, LeastSquaresJob::run, out, err);
  }

  private static boolean run(SparkSession spark, JobArguments arguments, PrintStream out)
      throws IOException {
    Path input = arguments.inputFile(0);
    Path labels = arguments.inputFile(1);
    Path directory = arguments.outputDirectory(2);
    Optional<FigureOption> figure = FigureOption.of(arguments);
    JobReport report = new JobReport(out);

    Map<String, String> reading = new HashMap<>(arguments.given("block-shape", "blockShape"));
    reading.put("as", "double");
    Dataset<Row> a = spark.read().format("npy").options(reading).load(JobArguments.uri(input));
    report.read(input, a);
    Shape shape = // (observations, features)
        ArrayMetadata.of(a.schema().apply("values").metadata()).extents(2).orElseThrow();
    int[] labelOf = labels(labels, shape.extent(0));
    int count = 1;
    for (int label : labelOf) {
      count = Math.max(count, label + 1);
    }
    double[][] wanted = new double[labelOf.length][count];
    for (int i = 0; i < wanted.length; i++) {
      wanted[i][labelOf[i]] = 1;
    }
    Dataset<Row> b = toBlocks(spark, wanted);

    long start = System.nanoTime();
    Lstsq found = MatrixBlocks.lstsq(a, b);
    report.plan(found.x());
    Path weightsFile = directory.resolve("weights.npy");
    found.x().write().format("npy").mode(SaveMode.Overwrite).save(JobArguments.uri(weightsFile));
    double rank = collected(found.rank(), 1, 1)[0][0];
    report.line("time", "%.2f s to the weights", (System.nanoTime() - start) / 1e9);
    report.line("rank", "%.0f of %d features", rank, shape.extent(1));

    double[][] told = // (observations, labels)
        collected(MatrixBlocks.multiply(a, found.x()), labelOf.length, count);
    int right = 0;
    for (int i = 0; i < told.length; i++) {
      int best = 0;
      for (int j = 1; j < count; j++) {
        best = told[i][j] > told[i][best] ? j : best;
      }
      right += best == labelOf[i] ? 1 : 0;
    }
    report.line("labels", "%.2f %% of the labels are predicted right", 100.0 * right / told.length);
    int features = Math.toIntExact(shape.extent(1));
    if (figure.isPresent()) {
      draw(input, weightsFile, features, count, arguments, figure.get());
      report.line("drew", "%s", figure.get().file());
    }
    String defect = check(input, wanted, told, features, arguments.seed());
    report.line("check", "%s", defect == null ? "right" : "WRONG: " + defect);
    return defect == null;
  }

  private static int[] labels(Path file, long observations) throws IOException {
    int[] labels = new int[Math.toIntExact(observations)];
    try (NpyElements labelled = NpyElements.open(file)) {
      if (labelled.shape()[0] != observations) {
        throw new IllegalArgumentException(
            "%s has %s labels; expected one for each of %s observations"
                .formatted(file, labelled.shape()[0], observations));
      }
      for (int i = 0; i < labels.length; i++) {
        double label = labelled.firstOf(i);
        if (!(label >= 0 && label < MOST_LABELS && label == Math.rint(label))) {
          throw new IllegalArgumentException(
              "%s: label %s is %s; expected a whole number from 0 to %s"
                  .formatted(file, i, label, MOST_LABELS - 1));
        }
        labels[i] = (int) label;
      }
    }
    return labels;
  }

  private static Dataset<Row> toBlocks(SparkSession spark, double[][] matrix) {
    Dataset<Row> blocks =
        spark
            .createDataset(List.of(DoubleBlock.whole(matrix)), Encoders.bean(DoubleBlock.class))
            .select("row", "col", "rows", "cols", "values");
    return MatrixBlocks.withExtents(blocks, matrix.length, matrix[0].length);
  }

  private static double[][] collected(Dataset<Row> blocks, int rows, int cols) {
    double[][] matrix = new double[rows][cols];
    for (DoubleBlock block :
        blocks
            .select("row", "col", "rows", "cols", "values")
            .as(Encoders.bean(DoubleBlock.class))
            .collectAsList()) {
      block.copyTo(matrix);
    }
    return matrix;
  }

  private static void draw(
      Path input,
      Path weightsFile,
      int features,
      int count,
      JobArguments arguments,
      FigureOption option)
      throws IOException {
    double[][] weights = new double[count][features];
    try (NpyElements found = NpyElements.open(weightsFile)) {
      for (int label = 0; label < count; label++) {
        for (int i = 0; i < features; i++) {
          weights[label][i] = found.number(i, label);
        }
      }
    }
    new VectorsFigure("weights of each label", 0, weights, ImageShape.of(arguments, features))
        .write(
            "Labels of " + input.getFileName() + " by least squares",
            "an observation times a label's weights is near 1 if it has the label",
            option);
  }

  /** Returns a defect, or null: the residual B - A X must be orthogonal to the columns of A. */
  private static String check(
      Path input, double[][] wanted, double[][] told, int features, long seed) throws IOException {
    Random random = new Random(seed);
    try (NpyElements a = NpyElements.open(input)) {
      for (int sample = 0; sample < 16; sample++) {
        int feature = random.nextInt(features);
        int label = random.nextInt(wanted[0].length);
        double product = 0;
        double sizes = 0;
        for (int i = 0; i < wanted.length; i++) {
          double element = a.number(i, feature);
          product += element * (wanted[i][label] - told[i][label]);
          sizes += Math.abs(element) * (wanted[i][label] + Math.abs(told[i][label]));
        }
        if (!(Math.abs(product) <= 1e-9 * Math.max(sizes, 1e-300))) {
          return "column %d and what is left of label %d have the product %s (seed %d)"
              .formatted(feature, label, product, seed);
        }
      }
    }
    return null;
  }
}
