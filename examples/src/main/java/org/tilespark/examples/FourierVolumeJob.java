package org.tilespark.examples;

import static org.apache.spark.sql.functions.expr;
import static org.apache.spark.sql.functions.sum;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.storage.StorageLevel;
import org.tilespark.examples.JobArguments.Option;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.options.FftOptions;

/**
 * Transforms the volume in one .npy file and transforms the spectrum back, both unchanged and after
 * a low-pass filter; checks both directions.
 *
 * <p>Exit status: 0 right answer, 1 wrong answer or failure, 2 bad arguments.
 */
public final class FourierVolumeJob {
  private static final String DEFAULT_CUTOFF = "0.1";

  private static final JobArguments.Usage USAGE =
      new JobArguments.Usage(
          "fft IN.npy OUT_DIR [options]",
          """
          Reads the volume in IN.npy, transforms it and writes into OUT_DIR (replacing what is there):

            spectrum.npy            the transform in natural order, not normalised: complex64, or
                                    complex128 of double
            lowpass.npy             the volume without its frequencies above the cutoff

            --real                  half a spectrum: of the last axis the frequencies from 0 on
            --low-pass CUTOFF       cycles per element, 0.5 at most in each direction (default: 0.1)
            --as float|double       what the numbers are read as (default: double if the file holds more
                                    than FLOAT does, else float)
            --block-shape X,Y,Z     elements per axis of a block (default: 8 to 32 MiB at most)
            --backend auto|gpu|cpu  who computes (default: auto)
            --figure FILE.png       a figure: a slice of both volumes and of the spectrum
            --figure-theme light|dark   the page that it is for (default: light)
            --seed N                seed of the sample that is checked (default: a new one)
          """,
          List.of("IN.npy", "OUT_DIR"),
          List.of(
              Option.flag("real"),
              Option.checked("low-pass", FourierVolumeJob::checkCutoff),
              ReadAs.OPTION,
              Option.text("block-shape"),
              Option.BACKEND,
              FigureOption.FIGURE,
              FigureOption.THEME,
              Option.SEED));

  private FourierVolumeJob() {}

  /** Runs the job under spark-submit. */
  public static void main(String[] args) {
    System.exit(run(args, System.out, System.err));
  }

  static int run(String[] args, PrintStream out, PrintStream err) {
    return ExampleJob.run(USAGE, args, FourierVolumeJob::run, out, err);
  }

  private static boolean run(SparkSession spark, JobArguments arguments, PrintStream out)
      throws IOException {
    Path input = arguments.inputFile(0);
    arguments.outputDirectory(1); // fails early if this is no directory
    Optional<FigureOption> figure = FigureOption.of(arguments);
    JobReport report = new JobReport(out);

    boolean asFloat = ReadAs.isFloat(spark, arguments, BlockKind.VOLUME, input);
    Map<String, String> reading = new HashMap<>(arguments.given("block-shape", "blockShape"));
    reading.put("as", asFloat ? "float" : "double");
    Dataset<Row> volume = spark.read().format("npy").options(reading).load(JobArguments.uri(input));
    report.read(input, volume);

    // The spectrum stays in the axis order that fft produces, which saves one exchange; ifft knows
    // the order. All results below use the spectrum, so it is cached.
    Dataset<Row> spectrum =
        VolumeBlocks.fft(volume, FftOptions.defaults().withReal(arguments.flag("real")))
            .persist(StorageLevel.MEMORY_AND_DISK());
    try {
      return run(arguments, input, volume, spectrum, figure, report);
    } finally {
      spectrum.unpersist(true);
    }
  }

  private static boolean run(
      JobArguments arguments,
      Path input,
      Dataset<Row> volume,
      Dataset<Row> spectrum,
      Optional<FigureOption> figure,
      JobReport report)
      throws IOException {
    Path directory = arguments.outputDirectory(1);
    boolean real = arguments.flag("real");
    boolean asFloat =
        BlockSchema.find(volume.schema(), BlockKind.VOLUME, "read").elementType()
            == ElementType.FLOAT32;
    double cutoff = Double.parseDouble(arguments.option("low-pass").orElse(DEFAULT_CUTOFF));
    // The file format accepts blocks of any tiling, so the axes are only permuted within each
    // block.
    Dataset<Row> natural = VolumeBlocks.permute(spectrum, "zxy");
    Dataset<Row> lowPass = VolumeBlocks.ifft(VolumeBlocks.lowPass(spectrum, cutoff));
    Dataset<Row> back = VolumeBlocks.ifft(spectrum);
    report.plan(back);

    Path spectrumFile = write(natural, directory.resolve("spectrum.npy"), report);
    Path lowPassFile = write(lowPass, directory.resolve("lowpass.npy"), report);
    if (figure.isPresent()) {
      SpectrumFigure.write(input, spectrumFile, lowPassFile, cutoff, figure.get());
      report.line("drew", "%s", figure.get().file());
    }

    double error = relativeError(volume, back);
    double bound = bound(extents(volume), asFloat);
    report.line(
        "back",
        "relative error of the volume after both transforms %.3g, at most %.3g is expected",
        error,
        bound);

    // An independent check: sums the definition of the transform from the file, without tilespark.
    SpectrumCheck check =
        SpectrumCheck.run(input, spectrumFile, real, asFloat ? 0x1p-24 : 0x1p-53, arguments.seed());
    report.line("check", "%s", check);
    return check.isRight() && error <= bound;
  }

  private static Path write(Dataset<Row> blocks, Path file, JobReport report) {
    long start = System.nanoTime();
    blocks.write().format("npy").mode(SaveMode.Overwrite).save(JobArguments.uri(file));
    report.wrote(file, blocks, System.nanoTime() - start);
    return file;
  }

  /** The norm of the difference divided by the norm of {@code volume}; 0 if both are 0. */
  private static double relativeError(Dataset<Row> volume, Dataset<Row> back) {
    Shape shape =
        ArrayMetadata.of(volume.schema().apply(BlockKind.VALUES).metadata())
            .blockShape(3)
            .orElseThrow();
    Dataset<Row> same =
        VolumeBlocks.reblock(
            back,
            Math.toIntExact(shape.extent(0)),
            Math.toIntExact(shape.extent(1)),
            Math.toIntExact(shape.extent(2)));
    boolean complexIn = isComplex(volume);
    boolean complexBack = isComplex(back);
    Column difference = squares("zip_with(v.values, b.values, (p, q) -> double(p) - double(q))");
    Column size = squares("transform(v.values, p -> double(p))");
    if (complexIn) {
      difference =
          difference.plus(squares("zip_with(v.imag, b.imag, (p, q) -> double(p) - double(q))"));
      size = size.plus(squares("transform(v.imag, p -> double(p))"));
    } else if (complexBack) {
      difference = difference.plus(squares("transform(b.imag, p -> double(p))"));
    }
    Row sums =
        volume
            .as("v")
            .join(same.as("b"), expr("v.x = b.x AND v.y = b.y AND v.z = b.z"))
            .select(difference.as("difference"), size.as("size"))
            .agg(sum("difference"), sum("size"))
            .first();
    if (sums.isNullAt(0)) {
      return 0; // no elements
    }
    double off = Math.sqrt(sums.getDouble(0));
    return off == 0 ? 0 : off / Math.sqrt(sums.getDouble(1));
  }

  /** The sum of the squares of an array of DOUBLE, as an SQL expression. */
  private static Column squares(String array) {
    return expr("aggregate(" + array + ", 0D, (s, d) -> s + d * d)").cast(DataTypes.DoubleType);
  }

  private static boolean isComplex(Dataset<Row> blocks) {
    return Arrays.asList(blocks.columns()).contains(BlockKind.IMAG);
  }

  private static Shape extents(Dataset<Row> blocks) {
    return ArrayMetadata.of(blocks.schema().apply(BlockKind.VALUES).metadata())
        .extents(3)
        .orElseThrow();
  }

  /** A bound of the relative rounding error of a transform and its inverse together. */
  private static double bound(Shape extents, boolean asFloat) {
    double bits = Math.log((double) Math.max(2, extents.elements())) / Math.log(2);
    return asFloat ? 1e-5 : 2e-14 * bits;
  }

  private static void checkCutoff(String text) {
    if (!(Double.parseDouble(text) >= 0)) {
      throw new IllegalArgumentException("expected a frequency of 0 or more");
    }
  }
}
