package org.tilespark.examples;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.tilespark.examples.JobArguments.Option;
import org.tilespark.spark.MatrixBlocks;

/**
 * Transposes the matrix in one .npy file, writes another, and checks a sample.
 *
 * <p>Exit status: 0 right answer, 1 wrong answer or failure, 2 bad arguments.
 */
public final class TransposeMatrixJob {
  private static final JobArguments.Usage USAGE =
      new JobArguments.Usage(
          "transpose IN.npy OUT.npy [options]",
          """
          Reads the matrix in IN.npy, transposes it block by block, writes OUT.npy (replacing it).

            --block-shape R,C       rows and columns of a block (default: at most 8 MiB)
            --backend auto|gpu|cpu  who computes (default: auto)
            --seed N                seed of the sample that is checked (default: a new one)
          """,
          List.of("IN.npy", "OUT.npy"),
          List.of(Option.text("block-shape"), Option.BACKEND, Option.SEED));

  private TransposeMatrixJob() {}

  /** Runs the job under spark-submit. */
  public static void main(String[] args) {
    System.exit(run(args, System.out, System.err));
  }

  static int run(String[] args, PrintStream out, PrintStream err) {
    return ExampleJob.run(USAGE, args, TransposeMatrixJob::run, out, err);
  }

  private static boolean run(SparkSession spark, JobArguments arguments, PrintStream out)
      throws IOException {
    Path input = arguments.inputFile(0);
    Path output = arguments.outputFile(1, input);
    JobReport report = new JobReport(out);

    Dataset<Row> matrix =
        spark
            .read()
            .format("npy")
            .options(arguments.given("block-shape", "blockShape"))
            .load(JobArguments.uri(input));
    report.read(input, matrix);

    Dataset<Row> transposed = MatrixBlocks.transpose(matrix);
    report.backend(transposed);

    long start = System.nanoTime();
    transposed.write().format("npy").mode(SaveMode.Overwrite).save(JobArguments.uri(output));
    report.wrote(output, transposed, System.nanoTime() - start);

    // An independent check: reads random elements of both files, without tilespark.
    SampleCheck check = SampleCheck.run(input, output, "yx", arguments.seed());
    report.check(check);
    return check.isRight();
  }
}
