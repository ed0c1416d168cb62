package org.tilespark.bench.spark;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.stream.LongStream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.storage.StorageLevel;
import org.tilespark.bench.spark.GeneratedMatrix.Content;
import org.tilespark.examples.JobArguments;
import org.tilespark.examples.JobArguments.Option;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.conf.Backend;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.options.FftOptions;
import org.tilespark.spark.runtime.ExecutorRuntime;

/**
 * Measures the Fourier transform of a cached complex volume in slabs along x, to the noop sink, by
 * each decomposition. Prints with each result where the time went, from the metrics of the query
 * and its stages.
 *
 * <p>Compares some frequencies of each spectrum with the sums that define them.
 */
public final class VolumeFourierBenchmark extends SparkBenchmark {
  private static final JobArguments.Usage USAGE =
      new JobArguments.Usage(
          "fft-bench [options]",
          """
          Measures Fourier transforms of a generated complex volume.

            --commit ID               what is measured, for the head of the output
            --shape X,Y,Z             (default: 128,128,128)
            --type float|double       of both parts (default: float)
            --thickness N             of a slab (default: as many slabs as four for each core, or X)
            --decompositions A,B,...  task, slabs, pencils, auto (default: all but auto)
            --output permuted|natural (default: permuted)
            --backend auto|gpu|cpu    who computes (default: auto)
            --storage-level LEVEL     where the cached blocks lie (default: MEMORY_ONLY)
            --warmups N, --rounds N   transforms before the measured ones, and those (default: 1, 3)
            --csv FILE
            --seed N                  seed of the elements (default: a new one)
          """,
          List.of(),
          List.of(
              Option.text("commit"),
              Option.checked("shape", text -> Shape.parse("--shape", text, 3)),
              Option.checked("type", VolumeFourierBenchmark::type),
              Option.checked("thickness", Integer::parseInt),
              Option.checked("decompositions", VolumeFourierBenchmark::decompositions),
              Option.checked("output", word -> FftOptions.defaults().withOutput(word)),
              Option.BACKEND,
              Option.checked("storage-level", StorageLevel::fromString),
              Option.checked("warmups", Integer::parseInt),
              Option.checked("rounds", Integer::parseInt),
              Option.text("csv"),
              Option.SEED));

  private static final int FREQUENCIES = 2;

  private final Shape shape;
  private final GeneratedMatrix planes; // each row is a plane of constant x
  private final int slabs;
  private final List<Times> all = new ArrayList<>();
  private boolean right = true;

  private VolumeFourierBenchmark(SparkSession spark, JobArguments arguments, PrintStream out) {
    super(spark, arguments, out);
    this.shape = Shape.parse("--shape", arguments.option("shape").orElse("128,128,128"), 3);
    int plane = Math.toIntExact(Math.multiplyExact(shape.extent(1), shape.extent(2)));
    int byDefault =
        Math.toIntExact(
            Math.max(1, shape.extent(0) / (4L * spark.sparkContext().defaultParallelism())));
    int thickness = arguments.option("thickness").map(Integer::parseInt).orElse(byDefault);
    this.planes =
        new GeneratedMatrix(
            shape.extent(0),
            plane,
            thickness,
            plane,
            type(arguments.option("type").orElse("float")),
            Content.FRACTIONS,
            arguments.seed());
    this.slabs = Math.toIntExact(planes.blocks());
    report.line("seed", "%d", arguments.seed());
  }

  /** Runs the benchmark under spark-submit. */
  public static void main(String[] args) {
    System.exit(run(args, System.out, System.err));
  }

  static int run(String[] args, PrintStream out, PrintStream err) {
    return run(USAGE, args, VolumeFourierBenchmark::new, out, err);
  }

  @Override
  boolean run() throws IOException, InterruptedException {
    arguments.option("backend").ifPresent(it -> spark.conf().set(TileSparkConf.BACKEND.name(), it));
    String machine =
        SparkMachine.describe(spark, ExecutorRuntime.current().gpu(Backend.AUTO, null), arguments);
    String data =
        String.format(
            Locale.ROOT,
            "%s complex %s, %d slabs of %d planes",
            shape.text(),
            planes.type() == ElementType.FLOAT32 ? "FLOAT" : "DOUBLE",
            slabs,
            planes.blockRows());
    report.line("machine", "%s", machine);
    report.line("data", "%s", data);
    Dataset<Row> volume =
        GeneratedVolume.slabs(spark, planes, shape).persist(StorageLevel.fromString(level()));
    try {
      noop(volume);
      SparkMachine.reportCache(spark, report);
      FftOptions options =
          FftOptions.defaults().withOutput(arguments.option("output").orElse("permuted"));
      for (String each :
          decompositions(arguments.option("decompositions").orElse("task,slabs,pencils"))) {
        measure(each, VolumeBlocks.fft(volume, options.withDecomposition(each)));
      }
    } finally {
      volume.unpersist(true);
      spark.conf().unset(TileSparkConf.BACKEND.name());
    }
    print();
    if (arguments.option("csv").isPresent()) {
      writeCsv(Path.of(arguments.option("csv").get()), machine + "; " + data);
    }
    return right;
  }

  private void measure(String name, Dataset<Row> spectrum) throws InterruptedException {
    check(name, spectrum);
    all.add(Times.measure(name, arguments, () -> noop(spectrum)));
    reported(name, spectrum);
  }

  /**
   * Compares some frequencies with the sums that define them; errors are relative to the input's
   * norm.
   */
  private void check(String name, Dataset<Row> spectrum) {
    String axes =
        ArrayMetadata.of(spectrum.schema().apply(BlockKind.VALUES).metadata()).axes().orElse("xyz");
    Random random = new Random(arguments.seed());
    // The expected norm of complex numbers uniform in [-1, 1), and a bound of the rounding errors
    // of log2(n) stages.
    double norm = Math.sqrt(2 / 3.0 * shape.elements());
    double unit = planes.type() == ElementType.FLOAT32 ? 0x1p-24 : 0x1p-53;
    double allowed = 4 * unit * Math.log((double) Math.max(2, shape.elements())) / Math.log(2);
    double worst = 0;
    for (int i = 0; i < FREQUENCIES; i++) {
      long[] frequency = new long[3];
      for (int axis = 0; axis < 3; axis++) {
        frequency[axis] = random.nextLong(shape.extent(axis));
      }
      long u = frequency["xyz".indexOf(axes.charAt(0))];
      long v = frequency["xyz".indexOf(axes.charAt(1))];
      long w = frequency["xyz".indexOf(axes.charAt(2))];
      String place =
          String.format(Locale.ROOT, "int(((%dL - x) * ny + %dL - y) * nz + %dL - z)", u, v, w);
      Row found =
          spectrum
              .where(
                  String.format(
                      Locale.ROOT,
                      "%dL BETWEEN x AND x + nx - 1 AND %dL BETWEEN y AND y + ny - 1"
                          + " AND %dL BETWEEN z AND z + nz - 1",
                      u,
                      v,
                      w))
              .selectExpr("double(values[" + place + "])", "double(imag[" + place + "])")
              .collectAsList()
              .get(0);
      double[] exact = definition(frequency);
      worst =
          Math.max(
              worst,
              Math.hypot(found.getDouble(0) - exact[0], found.getDouble(1) - exact[1]) / norm);
    }
    boolean good = worst <= allowed;
    right &= good;
    report.line(
        "check",
        "%s %s: %d frequencies off by at most %.2g of the norm, %.2g is expected",
        name,
        good ? "right" : "WRONG",
        FREQUENCIES,
        worst,
        allowed);
  }

  /** Computes one frequency by the sum that defines it, in double. */
  private double[] definition(long[] frequency) {
    int along = Math.toIntExact(shape.extent(2));
    int across = Math.toIntExact(shape.extent(1));
    double[][] lines = turns(frequency[1], across);
    double[][] points = turns(frequency[2], along);
    double[][] sums =
        LongStream.range(0, shape.extent(0))
            .parallel()
            .mapToObj(x -> plane(x, lines, points))
            .toArray(double[][]::new);
    double[][] planesOf = turns(frequency[0], Math.toIntExact(shape.extent(0)));
    double[] sum = new double[2];
    for (int x = 0; x < sums.length; x++) {
      addProduct(sum, sums[x][0], sums[x][1], planesOf[x]);
    }
    return sum;
  }

  private double[] plane(long x, double[][] lines, double[][] points) {
    int thickness = planes.blockRows();
    long first = x / thickness * thickness;
    long last = Math.min(first + thickness, shape.extent(0)) - 1;
    long opposite = first + last - x; // plane that holds x's imaginary part, in reverse
    int size = lines.length * points.length;
    double[] sum = new double[2];
    for (int y = 0; y < lines.length; y++) {
      double[] line = new double[2];
      for (int z = 0; z < points.length; z++) {
        int place = y * points.length + z;
        addProduct(
            line, planes.value(x, place), planes.value(opposite, size - 1 - place), points[z]);
      }
      addProduct(sum, line[0], line[1], lines[y]);
    }
    return sum;
  }

  /** Returns exp(-2 pi i frequency n / extent) for all n. */
  private static double[][] turns(long frequency, int extent) {
    double[][] turns = new double[extent][];
    for (int n = 0; n < extent; n++) {
      double angle = -2 * Math.PI * ((double) (frequency * n % extent) / extent);
      turns[n] = new double[] {Math.cos(angle), Math.sin(angle)};
    }
    return turns;
  }

  private static void addProduct(double[] sum, double real, double imag, double[] by) {
    sum[0] += real * by[0] - imag * by[1];
    sum[1] += real * by[1] + imag * by[0];
  }

  private void print() {
    out.printf("%-12s %9s %20s%n", "case", "s", "least to most s");
    for (Times times : all) {
      out.printf(
          Locale.ROOT,
          "%-12s %9.3f %20s%n",
          times.name(),
          times.median(),
          String.format(Locale.ROOT, "%.3f to %.3f", times.least(), times.most()));
    }
  }

  private void writeCsv(Path file, String head) throws IOException {
    StringBuilder csv = new StringBuilder("# " + head + "\n");
    csv.append("case,x,y,z,type,median_s,least_s,most_s\n");
    for (Times times : all) {
      csv.append(
          String.format(
              Locale.ROOT,
              "%s,%d,%d,%d,%s,%.4f,%.4f,%.4f%n",
              times.name(),
              shape.extent(0),
              shape.extent(1),
              shape.extent(2),
              planes.type() == ElementType.FLOAT32 ? "float" : "double",
              times.median(),
              times.least(),
              times.most()));
    }
    Files.writeString(file, csv);
  }

  private String level() {
    return arguments.option("storage-level").orElse("MEMORY_ONLY");
  }

  private static List<String> decompositions(String text) {
    List<String> words = List.of(text.split(","));
    for (String word : words) {
      FftOptions.of(Map.of("decomposition", word));
    }
    return words;
  }

  private static ElementType type(String text) {
    return switch (text) {
      case "float" -> ElementType.FLOAT32;
      case "double" -> ElementType.FLOAT64;
      default -> throw new IllegalArgumentException("expected float or double");
    };
  }
}
