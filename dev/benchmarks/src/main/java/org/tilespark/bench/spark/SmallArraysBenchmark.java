package org.tilespark.bench.spark;

import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.tilespark.bench.kernels.PythonPeer;
import org.tilespark.bench.spark.GeneratedMatrix.Content;
import org.tilespark.examples.JobArguments;
import org.tilespark.examples.JobArguments.Option;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.conf.Backend;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.options.FftOptions;
import org.tilespark.spark.runtime.ExecutorRuntime;

/**
 * Measures operations on many small cached matrices and volumes, one block each and identified by a
 * grouping column, to the noop sink; alternates with numpy on one array that holds them all.
 * Reports elapsed and CPU seconds of both processes.
 */
public final class SmallArraysBenchmark extends SparkBenchmark {
  private static final JobArguments.Usage USAGE =
      new JobArguments.Usage(
          "small-arrays-bench [options]",
          """
          Measures operations on many small arrays.

            --commit ID               what is measured, for the head of the output
            --arrays N                how many (default: 20000)
            --extent N                matrices of N x N (default: 64)
            --volume N                volumes of N x N x N (default: 16)
            --type float|double       (default: float)
            --cases A,B,...           of copy, transpose, map, zip, sum, gram, cov, permute, fft,
                                      volume-map (default: all)
            --backends A,B            gpu, cpu (default: all that this machine has)
            --partitions N            of the cached arrays (default: one for each core)
            --numpy PYTHON            take turns with numpy of this Python (default: without)
            --warmups N, --rounds N   queries before the measured ones, and those (default: 1, 3)
            --explain                 print each plan with its figures too
            --seed N                  seed of the elements (default: a new one)
          """,
          List.of(),
          List.of(
              Option.text("commit"),
              Option.checked("arrays", Long::parseLong),
              Option.checked("extent", Integer::parseInt),
              Option.checked("volume", Integer::parseInt),
              Option.text("type"),
              Option.text("cases"),
              Option.text("backends"),
              Option.checked("partitions", Integer::parseInt),
              Option.text("numpy"),
              Option.checked("warmups", Integer::parseInt),
              Option.checked("rounds", Integer::parseInt),
              Option.flag("explain"),
              Option.SEED));

  private static final OperatingSystemMXBean PROCESS =
      (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

  private final long arrays;
  private final int extent;
  private final int volume;
  private final ElementType type;
  private final int partitions;

  private SmallArraysBenchmark(SparkSession spark, JobArguments arguments, PrintStream out) {
    super(spark, arguments, out);
    this.arrays = arguments.option("arrays").map(Long::parseLong).orElse(20_000L);
    this.extent = number("extent", 64);
    this.volume = number("volume", 16);
    this.type =
        arguments.option("type").orElse("float").equals("float")
            ? ElementType.FLOAT32
            : ElementType.FLOAT64;
    this.partitions = number("partitions", spark.sparkContext().defaultParallelism());
  }

  /** Runs the benchmark under spark-submit. */
  public static void main(String[] args) {
    System.exit(run(args, System.out, System.err));
  }

  static int run(String[] args, PrintStream out, PrintStream err) {
    return run(USAGE, args, SmallArraysBenchmark::new, out, err);
  }

  /** Returns matrices, one in each row of the DataFrame. */
  private Dataset<Row> matrices(long seed) {
    return new GeneratedMatrix(
            Math.multiplyExact(arrays, extent), extent, extent, extent, type, Content.WHOLE, seed)
        .read(spark, partitions)
        .selectExpr(
            "row div " + extent + "L AS array", "0L AS row", "0L AS col", "rows", "cols", "values")
        .withMetadata("values", whole(Shape.of(extent, extent)).toMetadata());
  }

  /** Returns volumes, one in each row of the DataFrame. */
  private Dataset<Row> volumes(long seed) {
    int plane = Math.multiplyExact(volume, volume);
    return new GeneratedMatrix(
            Math.multiplyExact(arrays, volume), plane, volume, plane, type, Content.WHOLE, seed)
        .read(spark, partitions)
        .selectExpr(
            "row div " + volume + "L AS array",
            "0L AS x",
            "0L AS y",
            "0L AS z",
            volume + " AS nx",
            volume + " AS ny",
            volume + " AS nz",
            "values")
        .withMetadata("values", whole(Shape.of(volume, volume, volume)).toMetadata());
  }

  private static ArrayMetadata whole(Shape shape) {
    return ArrayMetadata.empty().withExtents(shape).withBlockShape(shape);
  }

  @Override
  boolean run() throws IOException, InterruptedException {
    var gpu = ExecutorRuntime.current().gpu(Backend.AUTO, null);
    report.line("machine", "%s", SparkMachine.describe(spark, gpu, arguments));
    report.line(
        "data",
        "%d arrays of %d x %d or %d^3 of %s, %d partitions",
        arrays,
        extent,
        extent,
        volume,
        type,
        partitions);
    String backends = arguments.option("backends").orElse(gpu.isPresent() ? "gpu,cpu" : "cpu");
    Dataset<Row> a = matrices(arguments.seed()).persist();
    Dataset<Row> b = matrices(arguments.seed() + 1).persist();
    Dataset<Row> v = volumes(arguments.seed() + 2).persist();
    int threads = spark.sparkContext().defaultParallelism();
    String python = arguments.option("numpy").orElse(null);
    try (PythonPeer peer = python == null ? null : PythonPeer.ofArrays(python, threads)) {
      List.of(a, b, v).forEach(SparkBenchmark::noop);
      Map<String, Dataset<Row>> cases = cases(a, b, v);
      for (String name :
          arguments.option("cases").orElse(String.join(",", cases.keySet())).split(",")) {
        Dataset<Row> query = cases.get(name);
        if (query == null) {
          throw new IllegalArgumentException(
              "There is no case " + name + "; expected some of " + cases.keySet());
        }
        for (String backend : backends.split(",")) {
          spark.conf().set(TileSparkConf.BACKEND.name(), backend);
          measure(name, backend, query, peer);
        }
      }
      return true;
    } finally {
      spark.conf().unset(TileSparkConf.BACKEND.name());
      List.of(a, b, v).forEach(each -> each.unpersist(true));
    }
  }

  private static Map<String, Dataset<Row>> cases(Dataset<Row> a, Dataset<Row> b, Dataset<Row> v) {
    Map<String, Dataset<Row>> cases = new LinkedHashMap<>();
    cases.put("copy", a);
    cases.put("transpose", MatrixBlocks.transpose(a));
    cases.put("map", MatrixBlocks.map(a, "v * 2 + 1"));
    cases.put("zip", MatrixBlocks.zip(a, b, "a * b + 1"));
    cases.put("sum", MatrixBlocks.sum(a, "row"));
    cases.put("gram", MatrixBlocks.gram(a));
    cases.put("cov", MatrixBlocks.cov(a));
    cases.put("permute", VolumeBlocks.permute(v, "zyx"));
    cases.put("fft", VolumeBlocks.fft(v, FftOptions.of(Map.of("real", "true"))));
    cases.put("volume-map", VolumeBlocks.map(v, "v * 2 + 1"));
    return cases;
  }

  private void measure(String name, String backend, Dataset<Row> query, PythonPeer peer)
      throws InterruptedException {
    for (int i = 0; i < number("warmups", 1); i++) {
      noop(query);
    }
    boolean ofVolumes = List.of("permute", "fft", "volume-map").contains(name);
    if (peer != null) {
      String shape = ofVolumes ? "%1$d %1$d %1$d".formatted(volume) : "%1$d %1$d".formatted(extent);
      peer.ask("make %d f%d %s".formatted(arrays, type.bytes(), shape));
    }
    int rounds = number("rounds", 3);
    double[][] seconds = new double[4][rounds]; // elapsed and CPU seconds: ours, then numpy's
    String asked =
        Map.of("permute", "transpose", "volume-map", "map", "copy", "map").getOrDefault(name, name);
    for (int i = 0; i < rounds; i++) {
      long cpu = PROCESS.getProcessCpuTime();
      long start = System.nanoTime();
      noop(query);
      seconds[0][i] = (System.nanoTime() - start) / 1e9;
      seconds[1][i] = (PROCESS.getProcessCpuTime() - cpu) / 1e9;
      if (peer != null) {
        String[] answer = peer.ask("run " + asked).split(" ");
        seconds[2][i] = Double.parseDouble(answer[0]);
        seconds[3][i] = Double.parseDouble(answer[1]);
      }
    }
    Arrays.stream(seconds).forEach(Arrays::sort);
    int middle = rounds / 2;
    report.line(
        name,
        "%s %.3f s (least %.3f), on cores %.3f s (least %.3f)%s",
        backend,
        seconds[0][middle],
        seconds[0][0],
        seconds[1][middle],
        seconds[1][0],
        peer == null
            ? ""
            : "; numpy's %s %.3f s (%.3f), on cores %.3f s (%.3f): %.2f x, least %.2f x"
                .formatted(
                    asked,
                    seconds[2][middle],
                    seconds[2][0],
                    seconds[3][middle],
                    seconds[3][0],
                    seconds[1][middle] / seconds[3][middle],
                    seconds[1][0] / seconds[3][0]));
    if (arguments.flag("explain")) {
      reported(name, query);
    }
  }
}
