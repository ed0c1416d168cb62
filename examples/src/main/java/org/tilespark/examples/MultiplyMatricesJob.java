package org.tilespark.examples;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.tilespark.examples.JobArguments.Option;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.options.MultiplyOptions;

/**
 * Multiplies the matrices in two .npy files, writes the product to a third file, and checks a
 * sample.
 *
 * <p>Exit status: 0 right answer, 1 wrong answer or failure, 2 bad arguments.
 */
public final class MultiplyMatricesJob {
  private static final JobArguments.Usage USAGE =
      new JobArguments.Usage(
          "multiply A.npy B.npy OUT.npy [options]",
          """
          Reads two matrices, multiplies them, writes OUT.npy (replacing it).

            --transpose-a           multiply with the transpose of A
            --transpose-b           multiply with the transpose of B
            --as float|double       what the numbers are read as (default: double if either file holds
                                    more than FLOAT does, else float)
            --precision WORD        full, or faster for FLOAT: tf32, bfloat16, float16 (default: full)
            --strategy WORD         auto, broadcast or cuboid(P,Q,R) (default: auto)
            --block-shape R,C       rows and columns of a block (default: at most 8 MiB)
            --backend auto|gpu|cpu  who computes (default: auto)
            --seed N                seed of the sample that is checked (default: a new one)
          """,
          List.of("A.npy", "B.npy", "OUT.npy"),
          List.of(
              Option.flag("transpose-a"),
              Option.flag("transpose-b"),
              ReadAs.OPTION,
              Option.checked("precision", word -> MultiplyOptions.of(Map.of("precision", word))),
              Option.checked("strategy", word -> MultiplyOptions.of(Map.of("strategy", word))),
              Option.text("block-shape"),
              Option.BACKEND,
              Option.SEED));

  private MultiplyMatricesJob() {}

  /** Runs the job under spark-submit. */
  public static void main(String[] args) {
    System.exit(run(args, System.out, System.err));
  }

  static int run(String[] args, PrintStream out, PrintStream err) {
    return ExampleJob.run(USAGE, args, MultiplyMatricesJob::run, out, err);
  }

  private static boolean run(SparkSession spark, JobArguments arguments, PrintStream out)
      throws IOException {
    Path fileA = arguments.inputFile(0);
    Path fileB = arguments.inputFile(1);
    Path output = arguments.outputFile(2, fileA);
    arguments.outputFile(2, fileB);
    JobReport report = new JobReport(out);

    boolean asFloat = ReadAs.isFloat(spark, arguments, BlockKind.MATRIX, fileA, fileB);
    Map<String, String> reading = new HashMap<>(arguments.given("block-shape", "blockShape"));
    reading.put("as", asFloat ? "float" : "double");
    Dataset<Row> a = spark.read().format("npy").options(reading).load(JobArguments.uri(fileA));
    Dataset<Row> b = spark.read().format("npy").options(reading).load(JobArguments.uri(fileB));
    report.read(fileA, a);
    report.read(fileB, b);

    MultiplyOptions options =
        MultiplyOptions.of(
            Map.of(
                "transposeA", Boolean.toString(arguments.flag("transpose-a")),
                "transposeB", Boolean.toString(arguments.flag("transpose-b")),
                "precision", arguments.option("precision").orElse("full"),
                "strategy", arguments.option("strategy").orElse("auto")));
    Dataset<Row> product = MatrixBlocks.multiply(a, b, options);
    report.plan(product);

    long start = System.nanoTime();
    product.write().format("npy").mode(SaveMode.Overwrite).save(JobArguments.uri(output));
    long elapsedNanos = System.nanoTime() - start;
    long[] shape; // of the product that was written
    try (NpyElements written = NpyElements.open(output)) {
      shape = written.shape();
      report.line("wrote", "%s: %s (%d, %d)", output, written.type(), shape[0], shape[1]);
    }
    double operations = 2.0 * shape[0] * inner(fileA, options.transposeA()) * shape[1];
    report.line(
        "time",
        "%.2f s%s: reading, multiplying and writing; the first run of a JVM",
        elapsedNanos / 1e9,
        JobReport.rate(operations, elapsedNanos, "GFLOP/s"));

    // An independent check: reads random elements of all three files, without tilespark.
    ProductCheck check =
        ProductCheck.run(
            new ProductCheck.Factor(fileA, options.transposeA()),
            new ProductCheck.Factor(fileB, options.transposeB()),
            output,
            asFloat,
            unit(options.precision(), asFloat),
            arguments.seed());
    report.line("check", "%s", check);
    return check.isRight();
  }

  /** The relative error of one rounding at a precision. */
  private static double unit(String precision, boolean asFloat) {
    return switch (precision) {
      case "tf32", "float16" -> 0x1p-11;
      case "bfloat16" -> 0x1p-8;
      default -> asFloat ? 0x1p-24 : 0x1p-53;
    };
  }

  private static long inner(Path fileA, boolean transposed) throws IOException {
    try (NpyElements a = NpyElements.open(fileA)) {
      return a.shape()[transposed ? 0 : 1];
    }
  }
}
