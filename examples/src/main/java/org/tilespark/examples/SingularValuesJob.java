package org.tilespark.examples;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.tilespark.examples.JobArguments.Option;
import org.tilespark.layout.Shape;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.Svd;
import org.tilespark.spark.block.ArrayMetadata;

/**
 * The largest singular values of a matrix, with their singular vectors.
 *
 * <p>Exit status: 0 right answer, 1 wrong answer or failure, 2 bad arguments.
 */
public final class SingularValuesJob {
  private static final JobArguments.Usage USAGE =
      new JobArguments.Usage(
          "svd IN.npy OUT_DIR [options]",
          """
          Reads the matrix in IN.npy, finds its largest singular values and their vectors, and
          writes u.npy, s.npy and vt.npy into OUT_DIR.

            --values N              how many (default: 16)
            --as float|double       what the numbers are read as (default: double)
            --block-shape R,C       rows and columns of a block (default: at most 8 MiB)
            --backend auto|gpu|cpu  who computes (default: auto)
            --figure FILE.png       a figure: the values, and right vectors that are images
            --figure-theme light|dark   the page that it is for (default: light)
            --image-shape R,C       the image that a row is (default: a square, if it can be)
            --seed N                seed of the sample that is checked (default: a new one)
          """,
          List.of("IN.npy", "OUT_DIR"),
          List.of(
              Option.count("values"),
              ImageShape.OPTION,
              ReadAs.OPTION,
              Option.text("block-shape"),
              Option.BACKEND,
              FigureOption.FIGURE,
              FigureOption.THEME,
              Option.SEED));

  private SingularValuesJob() {}

  /** Runs the job under spark-submit. */
  public static void main(String[] args) {
    System.exit(run(args, System.out, System.err));
  }

  static int run(String[] args, PrintStream out, PrintStream err) {
    return ExampleJob.run(USAGE, args, SingularValuesJob::run, out, err);
  }

  private static boolean run(SparkSession spark, JobArguments arguments, PrintStream out)
      throws IOException {
    Path input = arguments.inputFile(0);
    Path directory = arguments.outputDirectory(1);
    Optional<FigureOption> figure = FigureOption.of(arguments);
    boolean asFloat = arguments.option("as").orElse("double").equals("float");
    JobReport report = new JobReport(out);

    Map<String, String> reading = new HashMap<>(arguments.given("block-shape", "blockShape"));
    reading.put("as", asFloat ? "float" : "double");
    Dataset<Row> a = spark.read().format("npy").options(reading).load(JobArguments.uri(input));
    report.read(input, a);
    Shape shape = ArrayMetadata.of(a.schema().apply("values").metadata()).extents(2).orElseThrow();
    int count =
        (int) Math.min(Math.min(shape.extent(0), shape.extent(1)), arguments.count("values", 16));

    long start = System.nanoTime();
    a.persist();
    Svd found = MatrixBlocks.svd(a, count);
    report.plan(found.s());
    write(found.s(), directory.resolve("s.npy"));
    write(found.u(), directory.resolve("u.npy"));
    write(found.vt(), directory.resolve("vt.npy"));
    a.unpersist();
    report.line("time", "%.2f s", (System.nanoTime() - start) / 1e9);

    double[] values = new double[count];
    StringBuilder csv = new StringBuilder("number,singular_value\n");
    try (NpyElements s = NpyElements.open(directory.resolve("s.npy"))) {
      for (int i = 0; i < count; i++) {
        values[i] = s.number(i, 0);
        csv.append(String.format(Locale.ROOT, "%d,%.17g%n", i + 1, values[i]));
        report.line("value", "%2d is %.6g", i + 1, values[i]);
      }
    }
    Files.writeString(directory.resolve("singular-values.csv"), csv);
    if (figure.isPresent()) {
      draw(input, directory, values, shape, arguments, figure.get());
      report.line("drew", "%s", figure.get().file());
    }
    String defect = check(input, directory, values, shape, asFloat, arguments.seed());
    report.line("check", "%s", defect == null ? "right" : "WRONG: " + defect);
    return defect == null;
  }

  private static void write(Dataset<Row> blocks, Path file) {
    blocks.write().format("npy").mode(SaveMode.Overwrite).save(JobArguments.uri(file));
  }

  private static void draw(
      Path input,
      Path directory,
      double[] values,
      Shape shape,
      JobArguments arguments,
      FigureOption option)
      throws IOException {
    int cols = Math.toIntExact(shape.extent(1));
    double[][] vectors = new double[values.length][cols];
    try (NpyElements vt = NpyElements.open(directory.resolve("vt.npy"))) {
      for (int i = 0; i < values.length; i++) {
        for (int j = 0; j < cols; j++) {
          vectors[i][j] = vt.number(i, j);
        }
      }
    }
    new VectorsFigure("right singular vectors", 1, vectors, ImageShape.of(arguments, cols))
        .writeWith(
            "singular values",
            values,
            "Singular values of " + input.getFileName(),
            "%,d x %,d".formatted(shape.extent(0), shape.extent(1)),
            option);
  }

  /**
   * Returns a defect, or null: {@code A^T u = s v} for a tall matrix, {@code A v = s u} for a wide
   * one.
   */
  private static String check(
      Path input, Path directory, double[] values, Shape shape, boolean asFloat, long seed)
      throws IOException {
    double tolerance = asFloat ? 1e-4 : 1e-10;
    boolean isTall = shape.extent(0) >= shape.extent(1);
    long shorter = Math.min(shape.extent(0), shape.extent(1));
    long longer = Math.max(shape.extent(0), shape.extent(1));
    Random random = new Random(seed);
    try (NpyElements a = NpyElements.open(input);
        NpyElements u = NpyElements.open(directory.resolve("u.npy"));
        NpyElements vt = NpyElements.open(directory.resolve("vt.npy"))) {
      for (int sample = 0; sample < 16; sample++) {
        long at = random.nextLong(shorter);
        int value = random.nextInt(values.length);
        double product = 0;
        for (long i = 0; i < longer; i++) {
          product +=
              isTall ? a.number(i, at) * u.number(i, value) : a.number(at, i) * vt.number(value, i);
        }
        double expected = values[value] * (isTall ? vt.number(value, at) : u.number(at, value));
        if (!(Math.abs(product - expected) <= tolerance * values[0])) {
          return "the product with vector %d has the element %s at %d, expected %s (seed %d)"
              .formatted(value + 1, product, at, expected, seed);
        }
      }
    }
    return null;
  }
}
