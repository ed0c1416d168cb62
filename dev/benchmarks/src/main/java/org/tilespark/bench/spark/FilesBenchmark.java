package org.tilespark.bench.spark;

import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.tilespark.bench.kernels.PythonPeer;
import org.tilespark.examples.ExampleJob;
import org.tilespark.examples.JobArguments;
import org.tilespark.examples.JobArguments.Option;
import org.tilespark.examples.JobReport;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.options.FftOptions;

/**
 * Measures jobs from .npy files to a .npy file: copies and products of matrices, transforms and
 * transposes of volumes, alternating with numpy and scipy on as many threads. The first query of a
 * case runs in a session that has run the earlier cases. Each result is compared with numpy's.
 */
public final class FilesBenchmark {
  private static final JobArguments.Usage USAGE =
      new JobArguments.Usage(
          "files-bench [options]",
          """
          Measures products, transforms and transposes from .npy files to .npy files.

            --cases A,B,...   copy, multiply-double, multiply-float, transform, permute, transform-real, transform-dask
                              (default: all but the last two; the last is the transform, in turns with dask.array)
            --matrix N        rows and columns of matrices (default: 6000)
            --matrix-blocks R,C   their blocks (default: as the format cuts them)
            --volume X,Y,Z    extents of the volume that is transformed (default: 512,512,512)
            --permuted N      extents of the volume that is transposed to zyx (default: 640)
            --directory DIR   where the files lie, for a while (default: /dev/shm)
            --python PYTHON   with numpy and scipy, and dask for its case (default: python3)
            --rounds N        turns (default: 5)
            --peer-once       the peer makes what ours is compared with, and takes no turns
          """,
          List.of(),
          List.of(
              Option.text("cases"),
              Option.checked("matrix", Integer::parseInt),
              Option.text("matrix-blocks"),
              Option.text("volume"),
              Option.checked("permuted", Integer::parseInt),
              Option.text("directory"),
              Option.text("python"),
              Option.checked("rounds", Integer::parseInt),
              Option.flag("peer-once")));

  /** Creates the DataFrame that is written. */
  private interface Query {
    Dataset<Row> of(List<Path> inputs);
  }

  private static final OperatingSystemMXBean MACHINE =
      (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

  private final SparkSession spark;
  private final JobArguments arguments;
  private final JobReport report;
  private final PythonPeer peer;
  private final Path directory;
  private boolean right = true;

  private FilesBenchmark(
      SparkSession spark,
      JobArguments arguments,
      JobReport report,
      PythonPeer peer,
      Path directory) {
    this.spark = spark;
    this.arguments = arguments;
    this.report = report;
    this.peer = peer;
    this.directory = directory;
  }

  /** Runs the benchmark under spark-submit. */
  public static void main(String[] args) {
    System.exit(run(args, System.out, System.err));
  }

  static int run(String[] args, PrintStream out, PrintStream err) {
    return ExampleJob.run(USAGE, args, FilesBenchmark::run, out, err);
  }

  private static boolean run(SparkSession spark, JobArguments arguments, PrintStream out)
      throws IOException {
    Path directory =
        Files.createTempDirectory(
            Path.of(arguments.option("directory").orElse("/dev/shm")), "tilespark-bench");
    int threads = spark.sparkContext().defaultParallelism();
    try (PythonPeer peer =
        PythonPeer.ofFiles(arguments.option("python").orElse("python3"), threads)) {
      JobReport report = new JobReport(out);
      report.line("peer", "%s, %d threads, in turns", peer, threads);
      FilesBenchmark benchmark = new FilesBenchmark(spark, arguments, report, peer, directory);
      benchmark.all();
      return benchmark.right;
    } finally {
      try (Stream<Path> files = Files.list(directory)) {
        for (Path file : files.toList()) {
          Files.delete(file);
        }
      }
      Files.delete(directory);
    }
  }

  private void all() throws IOException {
    int matrix = extent("matrix", 6000);
    int[] volume =
        Arrays.stream(arguments.option("volume").orElse("512,512,512").split(",", -1))
            .mapToInt(Integer::parseInt)
            .toArray();
    int permuted = extent("permuted", 640);
    String cases =
        arguments.option("cases").orElse("copy,multiply-double,multiply-float,transform,permute");
    for (String each : cases.split(",", -1)) {
      switch (each) {
        case "copy" -> measure(each, "copy", inputs("f8", 1, matrix, matrix), this::matrix);
        case "multiply-double" ->
            measure(each, "multiply", inputs("f8", 2, matrix, matrix), this::product);
        case "multiply-float" ->
            measure(each, "multiply", inputs("f4", 2, matrix, matrix), this::product);
        case "transform" -> measure(each, "transform", inputs("f4", 1, volume), this::transform);
        case "transform-real" ->
            measure(each, "transform_real", inputs("f4", 1, volume), this::transformReal);
        case "transform-dask" ->
            measure(each, "transform_dask", inputs("f4", 1, volume), this::transform);
        case "permute" ->
            measure(each, "permute", inputs("f4", 1, permuted, permuted, permuted), this::permute);
        default ->
            throw new IllegalArgumentException(
                "--cases "
                    + each
                    + "; expected copy, multiply-double, multiply-float, transform, permute,"
                    + " transform-real or transform-dask");
      }
    }
  }

  private int extent(String option, int otherwise) {
    return arguments.option(option).map(Integer::parseInt).orElse(otherwise);
  }

  private List<Path> inputs(String type, int count, int... shape) {
    StringBuilder extents = new StringBuilder();
    for (int extent : shape) {
      extents.append(' ').append(extent);
    }
    return Stream.iterate(1, seed -> seed + 1)
        .limit(count)
        .map(
            seed -> {
              Path file = directory.resolve("in" + seed + ".npy");
              peer.ask("make " + file + " " + type + " " + seed + extents);
              return file;
            })
        .toList();
  }

  private Dataset<Row> matrix(List<Path> inputs) {
    return read(inputs.get(inputs.size() - 1), arguments.option("matrix-blocks").orElse(""));
  }

  private Dataset<Row> product(List<Path> inputs) {
    return MatrixBlocks.multiply(matrix(inputs.subList(0, 1)), matrix(inputs));
  }

  private Dataset<Row> transform(List<Path> inputs) {
    FftOptions natural = FftOptions.defaults().withOutput("natural");
    return VolumeBlocks.fft(read(inputs.get(0), ""), natural);
  }

  private Dataset<Row> transformReal(List<Path> inputs) {
    FftOptions natural = FftOptions.defaults().withOutput("natural").withReal(true);
    return VolumeBlocks.fft(read(inputs.get(0), ""), natural);
  }

  private Dataset<Row> permute(List<Path> inputs) {
    return VolumeBlocks.permute(read(inputs.get(0), ""), "zyx");
  }

  private Dataset<Row> read(Path file, String blockShape) {
    var reader = spark.read().format("npy");
    return (blockShape.isEmpty() ? reader : reader.option("blockShape", blockShape))
        .load(JobArguments.uri(file));
  }

  private void measure(String name, String request, List<Path> inputs, Query query)
      throws IOException {
    Path output = directory.resolve("out.npy");
    Path expected = directory.resolve("expected.npy");
    String ask = request + " " + expected;
    for (Path input : inputs) {
      ask += " " + input;
    }
    int rounds = Math.max(1, extent("rounds", 5));
    double[] ours = new double[rounds + 1];
    double[] theirs = new double[rounds + 1];
    double[] busy = new double[rounds + 1];
    double[] theirBusy = new double[rounds + 1];
    for (int round = 0; round <= rounds; round++) {
      if (round == 0 || !arguments.flag("peer-once")) {
        String[] nanos = peer.ask(ask).split(" ", 2);
        theirs[round] = Long.parseLong(nanos[0]) / 1e9;
        theirBusy[round] = Long.parseLong(nanos[1]) / 1e9;
      } else {
        theirs[round] = theirs[0];
        theirBusy[round] = theirBusy[0];
      }
      long busyBefore = MACHINE.getProcessCpuTime();
      long start = System.nanoTime();
      query
          .of(inputs)
          .write()
          .format("npy")
          .mode(SaveMode.Overwrite)
          .save(JobArguments.uri(output));
      ours[round] = (System.nanoTime() - start) / 1e9;
      busy[round] = (MACHINE.getProcessCpuTime() - busyBefore) / 1e9;
    }
    // Allowed difference relative to the largest element: 0 for copies and permutations, else a few
    // roundings.
    double allowed =
        name.equals("permute") || name.equals("copy")
            ? 0
            : name.equals("multiply-double") ? 1e-13 : 1e-5;
    String difference = peer.ask("difference " + output + " " + expected);
    boolean isRight = difference.matches("[0-9.e+-]+") && Double.parseDouble(difference) <= allowed;
    right &= isRight;
    report.line(
        name,
        "first %.2f s, then %s; all threads together %s; the peer %s, %s; %s",
        ours[0],
        later(ours),
        later(busy),
        later(theirs),
        later(theirBusy),
        isRight ? "right" : "WRONG: largest difference " + difference);
    Files.delete(output);
    Files.delete(expected);
  }

  /** Formats the median, minimum and maximum of all rounds but the first. */
  private static String later(double[] seconds) {
    double[] sorted = Arrays.copyOfRange(seconds, 1, seconds.length);
    Arrays.sort(sorted);
    return String.format(
        Locale.ROOT,
        "%.2f s (%.2f to %.2f)",
        sorted[sorted.length / 2],
        sorted[0],
        sorted[sorted.length - 1]);
  }
}
