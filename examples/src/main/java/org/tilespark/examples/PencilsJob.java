package org.tilespark.examples;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.tilespark.examples.JobArguments.Option;
import org.tilespark.spark.VolumeBlocks;

/**
 * Reorders and re-blocks the volume in one .npy file for a Fourier transform along one axis, and
 * checks a sample: each block holds that axis whole and contiguous.
 *
 * <p>Exit status: 0 right answer, 1 wrong answer or failure, 2 bad arguments.
 */
public final class PencilsJob {
  /**
   * For each axis, the cyclic order of axes that puts this axis last, where elements are
   * contiguous.
   */
  private static final Map<String, String> ORDERS = Map.of("x", "yzx", "y", "zxy", "z", "xyz");

  private static final JobArguments.Usage USAGE =
      new JobArguments.Usage(
          "pencils IN.npy OUT.npy --axis AXIS [options]",
          """
          Cuts the volume in IN.npy into pencils: whole along AXIS, cut along the others. Makes AXIS
          the contiguous one and writes OUT.npy (replacing it): axes yzx for x, zxy for y, xyz for z.

            --axis AXIS             x, y or z
            --section A,B           elements of a pencil along the other axes, in their order
                                    (default: blocks below 256 MiB, and one for each task
                                    that can run at once)
            --block-shape X,Y,Z     elements per axis of a block as read (default: 8 to 32 MiB at most)
            --backend auto|gpu|cpu  who computes (default: auto)
            --seed N                seed of the sample that is checked (default: a new one)
          """,
          List.of("IN.npy", "OUT.npy"),
          List.of(
              Option.required("axis", PencilsJob::checkAxis),
              Option.checked("section", PencilsJob::section),
              Option.text("block-shape"),
              Option.BACKEND,
              Option.SEED));

  private PencilsJob() {}

  /** Runs the job under spark-submit. */
  public static void main(String[] args) {
    System.exit(run(args, System.out, System.err));
  }

  static int run(String[] args, PrintStream out, PrintStream err) {
    return ExampleJob.run(USAGE, args, PencilsJob::run, out, err);
  }

  private static boolean run(SparkSession spark, JobArguments arguments, PrintStream out)
      throws IOException {
    Path input = arguments.inputFile(0);
    Path output = arguments.outputFile(1, input);
    String axis = arguments.option("axis").orElseThrow();
    String order = ORDERS.get(axis);
    JobReport report = new JobReport(out);

    Dataset<Row> volume =
        spark
            .read()
            .format("npy")
            .options(arguments.given("block-shape", "blockShape"))
            .load(JobArguments.uri(input));
    report.read(input, volume);

    Dataset<Row> pencils =
        arguments
            .option("section")
            .map(PencilsJob::section)
            .map(sizes -> VolumeBlocks.pencils(volume, axis, sizes[0], sizes[1]))
            .orElseGet(() -> VolumeBlocks.pencils(volume, axis));
    Dataset<Row> ordered = VolumeBlocks.permute(pencils, order);
    report.plan(ordered);

    long start = System.nanoTime();
    ordered.write().format("npy").mode(SaveMode.Overwrite).save(JobArguments.uri(output));
    report.wrote(output, ordered, System.nanoTime() - start);

    // An independent check: reads random elements of both files, without tilespark.
    SampleCheck check = SampleCheck.run(input, output, order, arguments.seed());
    report.check(check);
    return check.isRight();
  }

  private static void checkAxis(String text) {
    if (!ORDERS.containsKey(text)) {
      throw new IllegalArgumentException("expected x, y or z");
    }
  }

  private static int[] section(String text) {
    String[] parts = text.split(",", -1);
    if (parts.length != 2) {
      throw new IllegalArgumentException("expected two numbers, such as 32,64");
    }
    int[] sizes = {Integer.parseInt(parts[0].trim()), Integer.parseInt(parts[1].trim())};
    if (sizes[0] < 1 || sizes[1] < 1) {
      throw new IllegalArgumentException("expected two numbers of 1 or more");
    }
    return sizes;
  }
}
