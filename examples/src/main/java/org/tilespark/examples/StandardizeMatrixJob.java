package org.tilespark.examples;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
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

/**
 * Standardizes the columns of a matrix (z-scores), and computes the columns' correlations as a
 * product of the z-scores.
 *
 * <p>Exit status: 0 right answer, 1 wrong answer or failure, 2 bad arguments.
 */
public final class StandardizeMatrixJob {
  private static final int SAMPLES = 12;

  private static final JobArguments.Usage USAGE =
      new JobArguments.Usage(
          "standardize IN.npy OUT_DIR [options]",
          """
          Reads the matrix in IN.npy, each row one observation, and writes into OUT_DIR:

            scores.npy              each column less its mean, divided by its standard deviation;
                                    a column of one value becomes 0
            correlations.npy        the correlation of each column with each other one

            --as float|double       what the numbers are read as (default: double)
            --block-shape R,C       rows and columns of a block (default: at most 8 MiB)
            --backend auto|gpu|cpu  who computes (default: auto)
            --seed N                seed of the sample that is checked (default: a new one)
          """,
          List.of("IN.npy", "OUT_DIR"),
          List.of(ReadAs.OPTION, Option.text("block-shape"), Option.BACKEND, Option.SEED));

  private StandardizeMatrixJob() {}

  /** Runs the job under spark-submit. */
  public static void main(String[] args) {
    System.exit(run(args, System.out, System.err));
  }

  static int run(String[] args, PrintStream out, PrintStream err) {
    return ExampleJob.run(USAGE, args, StandardizeMatrixJob::run, out, err);
  }

  private static boolean run(SparkSession spark, JobArguments arguments, PrintStream out)
      throws IOException {
    Path input = arguments.inputFile(0);
    Path directory = arguments.outputDirectory(1);
    boolean asFloat = arguments.option("as").orElse("double").equals("float");
    JobReport report = new JobReport(out);

    Map<String, String> reading = new HashMap<>(arguments.given("block-shape", "blockShape"));
    reading.put("as", asFloat ? "float" : "double");
    Dataset<Row> matrix = spark.read().format("npy").options(reading).load(JobArguments.uri(input));
    report.read(input, matrix);
    Shape shape =
        ArrayMetadata.of(matrix.schema().apply(BlockKind.VALUES).metadata())
            .extents(2)
            .orElseThrow();

    Dataset<Row> scores = MatrixBlocks.standardize(matrix).persist(StorageLevel.MEMORY_AND_DISK());
    Path scoresFile = write(scores, directory.resolve("scores.npy"), report);
    Dataset<Row> correlations =
        MatrixBlocks.scale(MatrixBlocks.gram(scores), 1.0 / shape.extent(0));
    report.plan(correlations);
    Path correlationsFile = write(correlations, directory.resolve("correlations.npy"), report);
    scores.unpersist();

    String defect =
        check(input, scoresFile, correlationsFile, asFloat ? 1e-3 : 1e-9, arguments.seed());
    report.line("check", "%s", defect == null ? "right" : "WRONG: " + defect);
    return defect == null;
  }

  private static Path write(Dataset<Row> blocks, Path file, JobReport report) {
    long start = System.nanoTime();
    blocks.write().format("npy").mode(SaveMode.Overwrite).save(JobArguments.uri(file));
    report.line("wrote", "%s in %.2f s", file, (System.nanoTime() - start) / 1e9);
    return file;
  }

  /** Returns a defect, or null: recomputes some pairs of columns from the file. */
  private static String check(
      Path input, Path scoresFile, Path correlationsFile, double tolerance, long seed)
      throws IOException {
    Random random = new Random(seed);
    try (NpyElements values = NpyElements.open(input);
        NpyElements scores = NpyElements.open(scoresFile);
        NpyElements correlations = NpyElements.open(correlationsFile)) {
      for (int sample = 0; sample < SAMPLES; sample++) {
        long first = random.nextLong(values.shape()[1]);
        long second = random.nextLong(values.shape()[1]);
        double[] one = standardized(values, first);
        double[] other = standardized(values, second);
        double product = 0;
        for (int row = 0; row < one.length; row++) {
          double found = scores.number(row, first);
          if (!(Math.abs(found - one[row]) <= tolerance * Math.max(1, Math.abs(one[row])))) {
            return String.format(
                Locale.ROOT,
                "the score of row %d in column %d is %s, expected %s (seed %d)",
                row,
                first,
                found,
                one[row],
                seed);
          }
          product += one[row] * other[row];
        }
        double expected = product / one.length;
        double found = correlations.number(first, second);
        if (!(Math.abs(found - expected) <= tolerance)) {
          return String.format(
              Locale.ROOT,
              "the correlation of columns %d and %d is %s, expected %s (seed %d)",
              first,
              second,
              found,
              expected,
              seed);
        }
      }
    }
    return null;
  }

  /** Reads a column of the file and standardizes it: minus its mean, divided by its deviation. */
  private static double[] standardized(NpyElements values, long column) throws IOException {
    double[] all = new double[Math.toIntExact(values.shape()[0])];
    double sum = 0;
    for (int row = 0; row < all.length; row++) {
      all[row] = values.number(row, column);
      sum += all[row];
    }
    double mean = sum / all.length;
    double squares = 0;
    for (double value : all) {
      squares += (value - mean) * (value - mean);
    }
    double deviation = Math.sqrt(squares / all.length);
    for (int row = 0; row < all.length; row++) {
      all[row] = deviation == 0 ? 0 : (all[row] - mean) / deviation;
    }
    return all;
  }
}
