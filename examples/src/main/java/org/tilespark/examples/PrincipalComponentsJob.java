package org.tilespark.examples;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.apache.commons.math3.linear.Array2DRowRealMatrix;
import org.apache.commons.math3.linear.EigenDecomposition;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.storage.StorageLevel;
import org.tilespark.examples.JobArguments.Option;
import org.tilespark.layout.Shape;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.block.ArrayMetadata;

/**
 * Principal components of the rows of a matrix. DataFrame operators centre the matrix, multiply
 * {@code A^T A} and project; the driver receives only the (features, features) matrix, of which a
 * library computes the eigenvectors.
 *
 * <p>Exit status: 0 right answer, 1 wrong answer or failure, 2 bad arguments.
 */
public final class PrincipalComponentsJob {
  /** Least relative distance of two rows that scales the tolerance of the check. */
  private static final double NEARLY_THE_SAME = 1e-4;

  private static final JobArguments.Usage USAGE =
      new JobArguments.Usage(
          "pca IN.npy OUT_DIR [options]",
          """
          Reads the matrix in IN.npy, each row one observation, finds its principal components, and
          writes components.npy (one in each row), scores.npy (the observations in terms of them)
          and explained-variance.csv into OUT_DIR.

            --components N          how many (default: 16)
            --as float|double       what the numbers are read as (default: double)
            --block-shape R,C       rows and columns of a block (default: at most 8 MiB)
            --backend auto|gpu|cpu  who computes (default: auto)
            --figure FILE.png       a figure: variances, scores, and components that are images
            --figure-theme light|dark   the page that it is for (default: light)
            --labels LABELS.npy     a whole number for each observation, which colours its score
            --image-shape R,C       the image that a component is (default: a square, if it can be)
            --seed N                seed of the sample that is checked (default: a new one)
          """,
          List.of("IN.npy", "OUT_DIR"),
          List.of(
              Option.count("components"),
              ImageShape.OPTION,
              ReadAs.OPTION,
              Option.text("block-shape"),
              Option.BACKEND,
              FigureOption.FIGURE,
              FigureOption.THEME,
              Option.text("labels"),
              Option.SEED));

  private PrincipalComponentsJob() {}

  /** Runs the job under spark-submit. */
  public static void main(String[] args) {
    System.exit(run(args, System.out, System.err));
  }

  static int run(String[] args, PrintStream out, PrintStream err) {
    return ExampleJob.run(USAGE, args, PrincipalComponentsJob::run, out, err);
  }

  private static boolean run(SparkSession spark, JobArguments arguments, PrintStream out)
      throws IOException {
    Path input = arguments.inputFile(0);
    Path directory = arguments.outputDirectory(1);
    Optional<FigureOption> figure = FigureOption.of(arguments);
    Optional<Path> labels = arguments.inputFile("labels");
    boolean asFloat = arguments.option("as").orElse("double").equals("float");
    JobReport report = new JobReport(out);

    Map<String, String> reading = new HashMap<>(arguments.given("block-shape", "blockShape"));
    reading.put("as", asFloat ? "float" : "double");
    Dataset<Row> observations =
        spark.read().format("npy").options(reading).load(JobArguments.uri(input));
    report.read(input, observations);
    Shape shape = // (observations, features)
        ArrayMetadata.of(observations.schema().apply("values").metadata()).extents(2).orElseThrow();
    if (labels.isPresent()) {
      checkLabels(labels.get(), shape.extent(0));
    }
    int features = Math.toIntExact(shape.extent(1));
    int count = Math.min(features, arguments.count("components", 16));

    long start = System.nanoTime();
    Dataset<Row> centred =
        MatrixBlocks.center(observations).persist(StorageLevel.MEMORY_AND_DISK());
    Dataset<Row> gram = MatrixBlocks.gram(centred); // (features, features)
    report.plan(gram);
    double[][] covariance = covariance(gram, shape);
    long gramNanos = System.nanoTime() - start;

    // The columns of v are the components, by decreasing variance. Their signs are arbitrary.
    EigenDecomposition eigen = new EigenDecomposition(new Array2DRowRealMatrix(covariance, false));
    double[] variances = eigen.getRealEigenvalues();
    double[][] components = new double[count][];
    for (int c = 0; c < count; c++) {
      components[c] = withPositivePeak(eigen.getEigenvector(c).toArray());
    }
    long eigenNanos = System.nanoTime() - start - gramNanos;

    Dataset<Row> v = toBlocks(spark, transposed(components), asFloat); // (features, count)
    Dataset<Row> scores = MatrixBlocks.multiply(centred, v); // (observations, count)
    report.plan(scores);
    Path scoresFile = directory.resolve("scores.npy");
    write(scores, scoresFile);
    write(MatrixBlocks.transpose(v), directory.resolve("components.npy"));
    long scoresNanos = System.nanoTime() - start - gramNanos - eigenNanos;
    report.line(
        "time",
        "%.2f s to the covariances, %.2f s for eigenvectors on the driver, %.2f s to the scores",
        gramNanos / 1e9,
        eigenNanos / 1e9,
        scoresNanos / 1e9);

    writeVariances(variances, trace(covariance), count, directory, report);
    if (figure.isPresent()) {
      draw(
          input,
          scoresFile,
          labels,
          components,
          variances,
          trace(covariance),
          arguments,
          figure.get());
      report.line("drew", "%s", figure.get().file());
    }

    String defect =
        check(input, scoresFile, covariance, components, variances, asFloat, arguments.seed());
    report.line("check", "%s", defect == null ? "right" : "WRONG: " + defect);
    centred.unpersist();
    return defect == null;
  }

  /** Computes the covariance matrix from the Gram matrix of the centred values. */
  private static double[][] covariance(Dataset<Row> gram, Shape shape) {
    int features = Math.toIntExact(shape.extent(1));
    double[][] covariance = new double[features][features];
    for (DoubleBlock block :
        gram.select("row", "col", "rows", "cols", "values")
            .as(Encoders.bean(DoubleBlock.class))
            .collectAsList()) {
      block.copyTo(covariance);
    }
    double freedom = Math.max(1, shape.extent(0) - 1);
    for (double[] row : covariance) {
      for (int j = 0; j < features; j++) {
        row[j] /= freedom;
      }
    }
    return covariance;
  }

  private static Dataset<Row> toBlocks(SparkSession spark, double[][] matrix, boolean asFloat) {
    Dataset<Row> blocks =
        spark
            .createDataset(List.of(DoubleBlock.whole(matrix)), Encoders.bean(DoubleBlock.class))
            .selectExpr(
                "row",
                "col",
                "rows",
                "cols",
                asFloat ? "CAST(values AS ARRAY<FLOAT>) AS values" : "values");
    return MatrixBlocks.withExtents(blocks, matrix.length, matrix[0].length);
  }

  private static void write(Dataset<Row> blocks, Path file) {
    blocks.write().format("npy").mode(SaveMode.Overwrite).save(JobArguments.uri(file));
  }

  private static void writeVariances(
      double[] variances, double total, int count, Path directory, JobReport report)
      throws IOException {
    StringBuilder csv = new StringBuilder("component,variance,share,cumulative_share\n");
    double cumulative = 0;
    for (int c = 0; c < count; c++) {
      cumulative += variances[c];
      csv.append(
          String.format(
              Locale.ROOT,
              "%d,%.17g,%.6f,%.6f%n",
              c + 1,
              variances[c],
              variances[c] / total,
              cumulative / total));
      report.line(
          "component",
          "%2d explains %5.2f %% of the variance, %5.2f %% with those before",
          c + 1,
          100 * variances[c] / total,
          100 * cumulative / total);
    }
    Files.writeString(directory.resolve("explained-variance.csv"), csv);
  }

  private static void checkLabels(Path labels, long observations) throws IOException {
    try (NpyElements labelled = NpyElements.open(labels)) {
      if (labelled.shape()[0] != observations) {
        throw new IllegalArgumentException(
            labels
                + " has "
                + labelled.shape()[0]
                + " labels; expected one for each of "
                + observations
                + " observations");
      }
    }
  }

  private static void draw(
      Path input,
      Path scores,
      Optional<Path> labels,
      double[][] components,
      double[] variances,
      double total,
      JobArguments arguments,
      FigureOption figure)
      throws IOException {
    double[] shares =
        Arrays.stream(variances, 0, components.length).map(variance -> variance / total).toArray();
    ComponentsFigure.write(
        input,
        scores,
        labels,
        new ComponentsFigure.Components(
            components, shares, ImageShape.of(arguments, components[0].length)),
        figure);
  }

  /**
   * Returns a defect, or null. The score difference of two rows must be the projection of the rows'
   * difference, in which the mean cancels; rows are read from the file.
   */
  private static String check(
      Path input,
      Path scoresFile,
      double[][] covariance,
      double[][] components,
      double[] variances,
      boolean asFloat,
      long seed)
      throws IOException {
    double tolerance = asFloat ? 1e-4 : 1e-10;
    int features = covariance.length;
    for (int c = 0; c < components.length; c++) {
      for (int other = 0; other <= c; other++) {
        double product = dot(components[c], components[other]);
        if (!(Math.abs(product - (c == other ? 1 : 0)) <= 1e-10)) {
          return "components " + c + " and " + other + " have the product " + product;
        }
      }
      for (int i = 0; i < features; i++) {
        double residual = dot(covariance[i], components[c]) - variances[c] * components[c][i];
        if (!(Math.abs(residual) <= 1e-10 * variances[0])) {
          return "component " + c + " is no eigenvector: off by " + residual + " at " + i;
        }
      }
    }
    try (NpyElements values = NpyElements.open(input);
        NpyElements scores = NpyElements.open(scoresFile)) {
      Random random = new Random(seed);
      for (int sample = 0; sample < 32; sample++) {
        long first = random.nextLong(values.shape()[0]);
        long second = random.nextLong(values.shape()[0]);
        double[] row = new double[features];
        double[] difference = new double[features];
        for (int i = 0; i < features; i++) {
          row[i] = values.number(first, i);
          difference[i] = row[i] - values.number(second, i);
        }
        // The distance of nearly equal rows may be less than the rounding errors of their scores.
        double length =
            Math.max(
                Math.sqrt(dot(difference, difference)), NEARLY_THE_SAME * Math.sqrt(dot(row, row)));
        for (int c = 0; c < components.length; c++) {
          double expected = dot(difference, components[c]);
          double found = scores.number(first, c) - scores.number(second, c);
          if (!(Math.abs(found - expected) <= tolerance * length)) {
            return String.format(
                Locale.ROOT,
                "scores %d of rows %d and %d differ by %s, expected %s (seed %d)",
                c,
                first,
                second,
                found,
                expected,
                seed);
          }
        }
      }
    }
    return null;
  }

  /** Returns the vector or its negative, whichever has a positive element of largest magnitude. */
  private static double[] withPositivePeak(double[] vector) {
    double peak = 0;
    for (double x : vector) {
      peak = Math.abs(x) > Math.abs(peak) ? x : peak;
    }
    if (peak < 0) {
      for (int i = 0; i < vector.length; i++) {
        vector[i] = -vector[i];
      }
    }
    return vector;
  }

  private static double[][] transposed(double[][] matrix) {
    double[][] result = new double[matrix[0].length][matrix.length];
    for (int i = 0; i < matrix.length; i++) {
      for (int j = 0; j < matrix[i].length; j++) {
        result[j][i] = matrix[i][j];
      }
    }
    return result;
  }

  private static double trace(double[][] matrix) {
    double sum = 0;
    for (int i = 0; i < matrix.length; i++) {
      sum += matrix[i][i];
    }
    return sum;
  }

  private static double dot(double[] a, double[] b) {
    double sum = 0;
    for (int i = 0; i < a.length; i++) {
      sum += a[i] * b[i];
    }
    return sum;
  }
}
