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
import org.tilespark.layout.Permutation;
import org.tilespark.spark.VolumeBlocks;

/**
 * Permutes the axes of the volume in one .npy file, writes another, and checks a sample.
 *
 * <p>Exit status: 0 right answer, 1 wrong answer or failure, 2 bad arguments.
 */
public final class PermuteVolumeJob {
  private static final JobArguments.Usage USAGE =
      new JobArguments.Usage(
          "permute IN.npy OUT.npy --axes ORDER [options]",
          """
          Reads the volume in IN.npy, reorders its axes block by block, writes OUT.npy (replacing it).

            --axes ORDER            the input axis that each output axis is: xzy, yxz, yzx, zxy or
                                    zyx; yzx gives Y(j,k,i) = X(i,j,k)
            --block-shape X,Y,Z     elements per axis of a block (default: 8 to 32 MiB at most)
            --backend auto|gpu|cpu  who computes (default: auto)
            --seed N                seed of the sample that is checked (default: a new one)
          """,
          List.of("IN.npy", "OUT.npy"),
          List.of(
              Option.required("axes", Permutation::parse),
              Option.text("block-shape"),
              Option.BACKEND,
              Option.SEED));

  private PermuteVolumeJob() {}

  /** Runs the job under spark-submit. */
  public static void main(String[] args) {
    System.exit(run(args, System.out, System.err));
  }

  static int run(String[] args, PrintStream out, PrintStream err) {
    return ExampleJob.run(USAGE, args, PermuteVolumeJob::run, out, err);
  }

  private static boolean run(SparkSession spark, JobArguments arguments, PrintStream out)
      throws IOException {
    Path input = arguments.inputFile(0);
    Path output = arguments.outputFile(1, input);
    String axes = arguments.option("axes").orElseThrow();
    JobReport report = new JobReport(out);

    Dataset<Row> volume =
        spark
            .read()
            .format("npy")
            .options(arguments.given("block-shape", "blockShape"))
            .load(JobArguments.uri(input));
    report.read(input, volume);

    Dataset<Row> permuted = VolumeBlocks.permute(volume, axes);
    report.backend(permuted);

    long start = System.nanoTime();
    permuted.write().format("npy").mode(SaveMode.Overwrite).save(JobArguments.uri(output));
    report.wrote(output, permuted, System.nanoTime() - start);

    // An independent check: reads random elements of both files, without tilespark.
    SampleCheck check = SampleCheck.run(input, output, axes, arguments.seed());
    report.check(check);
    return check.isRight();
  }
}
