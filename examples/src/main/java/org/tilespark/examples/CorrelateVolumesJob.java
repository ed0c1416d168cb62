package org.tilespark.examples;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.tilespark.examples.JobArguments.Option;
import org.tilespark.layout.Shape;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.options.FftOptions;

/**
 * Registers two volumes: Fourier transforms find the shift at which their circular
 * cross-correlation is greatest, and the second volume is written, shifted back.
 *
 * <p>Exit status: 0 right answer, 1 wrong answer or failure, 2 bad arguments.
 */
public final class CorrelateVolumesJob {
  private static final int RANDOM_SHIFTS = 4;

  private static final JobArguments.Usage USAGE =
      new JobArguments.Usage(
          "correlate A.npy B.npy OUT.npy [options]",
          """
          Finds by how many elements the volume in B.npy must be rolled to match that in A.npy best:
          where their circular cross-correlation is greatest. Writes B.npy rolled so to OUT.npy
          (replacing it). Both volumes have the same extents.

            --roll X,Y,Z            rolls B.npy first, by X, Y and Z elements (to try this with one file)
            --as float|double       what the numbers are read as (default: double if a file holds more
                                    than FLOAT does, else float)
            --block-shape X,Y,Z     elements per axis of a block (default: 8 to 32 MiB at most)
            --backend auto|gpu|cpu  who computes (default: auto)
            --seed N                seed of the shifts that are checked (default: a new one)
          """,
          List.of("A.npy", "B.npy", "OUT.npy"),
          List.of(
              Option.checked("roll", CorrelateVolumesJob::shifts),
              ReadAs.OPTION,
              Option.text("block-shape"),
              Option.BACKEND,
              Option.SEED));

  private CorrelateVolumesJob() {}

  /** Runs the job under spark-submit. */
  public static void main(String[] args) {
    System.exit(run(args, System.out, System.err));
  }

  static int run(String[] args, PrintStream out, PrintStream err) {
    return ExampleJob.run(USAGE, args, CorrelateVolumesJob::run, out, err);
  }

  private static boolean run(SparkSession spark, JobArguments arguments, PrintStream out)
      throws IOException {
    Path first = arguments.inputFile(0);
    Path second = arguments.inputFile(1);
    Path output = arguments.outputFile(2, first);
    arguments.outputFile(2, second); // the output is neither input
    JobReport report = new JobReport(out);

    boolean asFloat = ReadAs.isFloat(spark, arguments, BlockKind.VOLUME, first, second);
    Map<String, String> reading = new HashMap<>(arguments.given("block-shape", "blockShape"));
    reading.put("as", asFloat ? "float" : "double");
    Dataset<Row> a = spark.read().format("npy").options(reading).load(JobArguments.uri(first));
    Dataset<Row> read = spark.read().format("npy").options(reading).load(JobArguments.uri(second));
    report.read(first, a);
    report.read(second, read);
    Shape extents = extents(a);
    if (!extents.equals(extents(read))) {
      throw new IllegalArgumentException(
          "%s has the extents %s, %s has %s; expected the same"
              .formatted(first, extents.text(), second, extents(read).text()));
    }
    Dataset<Row> b =
        arguments.option("roll").map(text -> VolumeBlocks.roll(read, text)).orElse(read);

    // A transform of real values needs only half a spectrum. The product of one spectrum with the
    // conjugate of the other is the spectrum of the correlation: c(k) is the sum of a(i + k) b(i).
    long start = System.nanoTime();
    FftOptions half = FftOptions.defaults().withReal(true);
    Dataset<Row> correlation =
        VolumeBlocks.ifft(
            VolumeBlocks.zip(VolumeBlocks.fft(a, half), VolumeBlocks.fft(b, half), "a * conj(b)"));
    Dataset<Row> greatest = VolumeBlocks.argmax(correlation);
    report.plan(greatest);
    long[] shift = shift(greatest.first().getLong(0), extents);
    report.line(
        "shift",
        "%s elements along x, y and z; found in %.2f s",
        Arrays.toString(shift),
        (System.nanoTime() - start) / 1e9);

    start = System.nanoTime();
    Dataset<Row> registered =
        VolumeBlocks.roll(b, "%d,%d,%d".formatted(shift[0], shift[1], shift[2]));
    registered.write().format("npy").mode(SaveMode.Overwrite).save(JobArguments.uri(output));
    report.wrote(output, registered, System.nanoTime() - start);

    String defect = check(first, output, extents, asFloat, arguments.seed());
    report.line("check", "%s", defect == null ? "right" : "WRONG: " + defect);
    return defect == null;
  }

  private static Shape extents(Dataset<Row> blocks) {
    return ArrayMetadata.of(blocks.schema().apply(BlockKind.VALUES).metadata())
        .extents(3)
        .orElseThrow();
  }

  /**
   * The shift for a row-major index of the correlation; indices past the middle of an axis are
   * negative shifts.
   */
  private static long[] shift(long place, Shape extents) {
    long[] shift = new long[3];
    long left = place;
    for (int axis = 2; axis >= 0; axis--) {
      long extent = extents.extent(axis);
      long along = left % extent;
      shift[axis] = along > (extent - 1) / 2 ? along - extent : along;
      left /= extent;
    }
    return shift;
  }

  /**
   * Returns a defect, or null: further shifts of the output, by one element along each axis and by
   * random amounts, must not increase the correlation, which is summed directly from the files.
   */
  private static String check(Path first, Path output, Shape extents, boolean asFloat, long seed)
      throws IOException {
    Random random = new Random(seed);
    List<long[]> shifts = new ArrayList<>();
    for (int axis = 0; axis < 3; axis++) {
      for (int step : new int[] {-1, 1}) {
        long[] shift = new long[3];
        shift[axis] = step;
        shifts.add(shift);
      }
    }
    for (int i = 0; i < RANDOM_SHIFTS; i++) {
      shifts.add(Arrays.stream(extents.toArray()).map(extent -> random.nextLong(extent)).toArray());
    }
    try (NpyElements a = NpyElements.open(first);
        NpyElements b = NpyElements.open(output)) {
      double size = Math.sqrt(correlation(a, a, new long[3]) * correlation(b, b, new long[3]));
      double found = correlation(a, b, new long[3]);
      double rounding = (asFloat ? 1e-5 : 1e-12) * size;
      for (long[] shift : shifts) {
        double other = correlation(a, b, shift);
        if (!(other <= found + rounding)) {
          return String.format(
              Locale.ROOT,
              "the correlation is %s without and %s with a further shift by %s (seed %d)",
              found,
              other,
              Arrays.toString(shift),
              seed);
        }
      }
    }
    return null;
  }

  /** Returns the sum of a(i + shift) b(i), read line by line. */
  private static double correlation(NpyElements a, NpyElements b, long[] shift) throws IOException {
    long[] extents = a.shape();
    int along = a.contiguousAxis();
    int length = Math.toIntExact(extents[along]);
    int[] others = {along == 0 ? 1 : 0, along == 2 ? 1 : 2};
    double sum = 0;
    double[] ofA = new double[length];
    double[] ofB = new double[length];
    for (long i = 0; i < extents[others[0]]; i++) {
      for (long j = 0; j < extents[others[1]]; j++) {
        long[] place = new long[3];
        place[others[0]] = i;
        place[others[1]] = j;
        line(b, along, place, ofB);
        for (int other : others) {
          place[other] = Math.floorMod(place[other] + shift[other], extents[other]);
        }
        line(a, along, place, ofA);
        int from = (int) Math.floorMod(shift[along], (long) length);
        for (int k = 0; k < length; k++) {
          sum += ofA[from] * ofB[k];
          from = from + 1 == length ? 0 : from + 1;
        }
      }
    }
    return sum;
  }

  /** Reads the elements along an axis, in C or Fortran order. */
  private static void line(NpyElements file, int axis, long[] place, double[] values)
      throws IOException {
    if (file.contiguousAxis() == axis) {
      file.line(place, values, new double[0]);
      return;
    }
    long[] at = place.clone();
    for (int k = 0; k < values.length; k++) {
      at[axis] = k;
      values[k] = file.number(at);
    }
  }

  private static void shifts(String text) {
    String[] parts = text.split(",", -1);
    if (parts.length != 3) {
      throw new IllegalArgumentException("expected three whole numbers, such as 5,-7,3");
    }
    for (String part : parts) {
      Long.parseLong(part.trim());
    }
  }
}
