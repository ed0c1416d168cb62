package org.tilespark.bench.spark;

import java.io.IOException;
import java.io.PrintStream;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.DoubleStream;
import java.util.stream.Stream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.storage.StorageLevel;
import org.tilespark.bench.arrow.PinnedCopies;
import org.tilespark.bench.spark.GeneratedMatrix.Content;
import org.tilespark.examples.JobArguments;
import org.tilespark.examples.JobArguments.Option;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.conf.Backend;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.options.FftOptions;
import org.tilespark.spark.options.MultiplyOptions;
import org.tilespark.spark.runtime.ExchangeStatus;
import org.tilespark.spark.runtime.ExecutorRuntime;
import org.tilespark.spark.runtime.Gpu;
import org.tilespark.spark.stage.BlockStageExec;

/**
 * Compares the exchange in memory with Spark's shuffle, for operators that exchange blocks: both
 * alternate in one session, from cached blocks to the noop sink, and their results must be equal.
 */
public final class ExchangeBenchmark extends SparkBenchmark {
  private static final JobArguments.Usage USAGE =
      new JobArguments.Usage(
          "exchange [options]",
          """
          Measures re-blocking, transforms and products through each exchange in turns.

            --commit ID            what is measured, for the head of the output
            --cases A,B,...        reblock, alone (its pieces cut, exchanged and counted; what
                                   is compared is the whole re-block), fft, filter (fft, low
                                   pass, ifft), average (fft, low pass, radial average),
                                   map (v * 2 + 1 of the cube), sum (along x), multiply
                                   (default: all)
            --modes A,B            memory, spark (default: both)
            --extent N             of the square FLOAT matrix that is re-blocked (default: 8192)
            --volume N             of the cube of complex FLOAT (default: 256)
            --product N            of the square FLOAT matrices that are multiplied (default: 2048)
            --backend auto|gpu|cpu who computes (default: auto)
            --warmups N, --rounds N  of each (default: 2, 5)
            --seed N               seed of the elements (default: a new one)
          """,
          List.of(),
          List.of(
              Option.text("commit"),
              Option.text("cases"),
              Option.text("modes"),
              Option.checked("extent", Integer::parseInt),
              Option.checked("volume", Integer::parseInt),
              Option.checked("product", Integer::parseInt),
              Option.BACKEND,
              Option.checked("warmups", Integer::parseInt),
              Option.checked("rounds", Integer::parseInt),
              Option.SEED));

  /** Blocks of matrices have BLOCK_ROWS x BLOCK_COLS elements; a re-block swaps the two. */
  private static final int BLOCK_ROWS = 1024;

  private static final int BLOCK_COLS = 512;

  /**
   * Cutoff frequency of the low-pass filter, in cycles per element: half of the Nyquist frequency.
   */
  private static final double CUTOFF = 0.25;

  /** Labels of our nodes' metrics for the time spent computing. */
  private static final List<String> ARITHMETIC =
      List.of("time computing on the CPU", "time multiplying on the CPU");

  /**
   * Times of one run, in seconds.
   *
   * @param wall elapsed time of the query
   * @param tasks total time of all tasks
   * @param cpu CPU time of all tasks
   * @param arithmetic part of {@code tasks} that was spent computing
   */
  private record Run(double wall, double tasks, double cpu, double arithmetic) {
    double outside() {
      return tasks - arithmetic;
    }
  }

  private ExchangeBenchmark(SparkSession spark, JobArguments arguments, PrintStream out) {
    super(spark, arguments, out);
  }

  /** Runs the benchmark under spark-submit. */
  public static void main(String[] args) {
    System.exit(run(args, System.out, System.err));
  }

  static int run(String[] args, PrintStream out, PrintStream err) {
    return run(USAGE, args, ExchangeBenchmark::new, out, err);
  }

  @Override
  boolean run() throws IOException, InterruptedException {
    arguments.option("backend").ifPresent(it -> spark.conf().set(TileSparkConf.BACKEND.name(), it));
    report.line(
        "machine",
        "%s",
        SparkMachine.describe(spark, ExecutorRuntime.current().gpu(Backend.AUTO, null), arguments));
    report.line("seed", "%d", arguments.seed());
    boolean right = true;
    try {
      for (String name : words("cases", "reblock,alone,fft,filter,average,map,sum,multiply")) {
        right &=
            switch (name) {
              case "reblock", "alone" -> reblock(name);
              case "fft", "filter", "average", "map", "sum" -> volume(name);
              case "multiply" -> multiply();
              default -> throw new IllegalArgumentException("--cases: there is no " + name);
            };
      }
      tellUploads();
      ExchangeStatus store = ExecutorRuntime.current().exchangeStatus();
      report.line(
          "memory",
          "%s of the process at most; store %.1f GiB at most of %.1f, %.1f GiB went to files",
          mostResident(),
          gib(store.storePeakBytes()),
          gib(store.storeLimitBytes()),
          gib(store.inFilesBytes()));
    } finally {
      spark.conf().unset(TileSparkConf.BACKEND.name());
    }
    return right;
  }

  /** Reports this process' rate of pinned uploads to the device. */
  private void tellUploads() {
    ExecutorRuntime runtime = ExecutorRuntime.current();
    Optional<Gpu> gpu =
        runtime.gpu(TileSparkConf.BACKEND.read(name -> spark.conf().get(name, null)), null);
    if (gpu.isEmpty()) {
      return;
    }
    try (PinnedCopies copies = new PinnedCopies(gpu.get().device(), runtime.memory(gpu))) {
      copies.uploadNanos(1L << 30);
      long[] nanos = new long[5];
      Arrays.setAll(nanos, i -> copies.uploadNanos(8L << 30));
      Arrays.sort(nanos);
      report.line(
          "uploads",
          "%.1f GB/s (%.1f to %.1f) from pinned memory",
          8.0 * (1L << 30) / nanos[2],
          8.0 * (1L << 30) / nanos[4],
          8.0 * (1L << 30) / nanos[0]);
    }
  }

  private boolean reblock(String name) throws InterruptedException {
    Dataset<Row> blocks = cached(matrix(number("extent", 8192), 0));
    return measured(name, MatrixBlocks.reblock(blocks, BLOCK_COLS, BLOCK_ROWS), blocks);
  }

  private boolean volume(String name) throws InterruptedException {
    int extent = number("volume", 256);
    int thickness = Math.max(1, extent / (4 * spark.sparkContext().defaultParallelism()));
    GeneratedMatrix planes =
        new GeneratedMatrix(
            extent,
            Math.multiplyExact(extent, extent),
            thickness,
            Math.multiplyExact(extent, extent),
            ElementType.FLOAT32,
            Content.FRACTIONS,
            arguments.seed());
    Dataset<Row> slabs =
        cached(GeneratedVolume.slabs(spark, planes, Shape.of(extent, extent, extent)));
    FftOptions options = FftOptions.defaults().withDecomposition("slabs");
    Dataset<Row> spectrum = VolumeBlocks.fft(slabs, options);
    Dataset<Row> query =
        switch (name) {
          case "map" -> VolumeBlocks.map(slabs, "v * 2 + 1");
          case "sum" -> VolumeBlocks.sum(slabs, "x");
          case "filter" -> VolumeBlocks.ifft(VolumeBlocks.lowPass(spectrum, CUTOFF), options);
          case "average" -> VolumeBlocks.radialAverage(VolumeBlocks.lowPass(spectrum, CUTOFF));
          default -> spectrum;
        };
    return measured(name, query, slabs);
  }

  private boolean multiply() throws InterruptedException {
    int extent = number("product", 2048);
    Dataset<Row> a = cached(matrix(extent, 0));
    Dataset<Row> b = cached(matrix(extent, 1));
    MultiplyOptions cuboids =
        MultiplyOptions.defaults().withStrategy(new MultiplyOptions.Strategy.Cuboid(2, 2, 1));
    return measured("multiply", MatrixBlocks.multiply(a, b, cuboids), a, b);
  }

  private Dataset<Row> matrix(int extent, int which) {
    GeneratedMatrix matrix =
        new GeneratedMatrix(
            extent,
            extent,
            BLOCK_ROWS,
            BLOCK_COLS,
            ElementType.FLOAT32,
            Content.FRACTIONS,
            arguments.seed() + which);
    return matrix.read(
        spark, (int) Math.min(matrix.blocks(), 2L * spark.sparkContext().defaultParallelism()));
  }

  private Dataset<Row> cached(Dataset<Row> blocks) {
    Dataset<Row> cached = blocks.persist(StorageLevel.MEMORY_ONLY());
    noop(cached);
    return cached;
  }

  /** Measures a query with both exchanges in turns; returns true if both gave the same rows. */
  @SafeVarargs
  private boolean measured(String name, Dataset<Row> query, Dataset<Row>... inputs)
      throws InterruptedException {
    Map<String, List<Run>> runs = new LinkedHashMap<>();
    Map<String, BigDecimal> sums = new LinkedHashMap<>();
    try {
      for (String mode : words("modes", "memory,spark")) {
        runs.put(mode, new ArrayList<>());
        spark.conf().set(TileSparkConf.EXCHANGE_MODE.name(), mode);
        report.line(name, "%-6s first run %.3f s", mode, time(name, query).wall);
        // The rounding of an average depends on the order of its parts, so only counts are
        // compared.
        sums.put(mode, sum(name.equals("average") ? query.select("frequency", "count") : query));
      }
      int warmups = number("warmups", 2);
      for (int round = -warmups; round < number("rounds", 5); round++) {
        for (var each : runs.entrySet()) {
          spark.conf().set(TileSparkConf.EXCHANGE_MODE.name(), each.getKey());
          Run run = time(name, query);
          if (round >= 0) {
            each.getValue().add(run);
          }
        }
      }
    } finally {
      spark.conf().unset(TileSparkConf.EXCHANGE_MODE.name());
      for (Dataset<Row> input : inputs) {
        input.unpersist(true);
      }
    }
    boolean same = sums.values().stream().distinct().count() == 1;
    runs.forEach((mode, all) -> tell(name, mode, all));
    if (runs.size() == 2) {
      List<List<Run>> both = List.copyOf(runs.values());
      report.line(
          name,
          "memory over spark: wall %.2f, time outside arithmetic %.2f, CPU time %.2f; results %s",
          ratio(both, Run::wall),
          ratio(both, Run::outside),
          ratio(both, Run::cpu),
          same ? "are the same" : "DIFFER");
    }
    return same;
  }

  private void tell(String name, String mode, List<Run> runs) {
    double[] walls = runs.stream().mapToDouble(Run::wall).sorted().toArray();
    report.line(
        name,
        "%-6s %.3f s (%.3f to %.3f); tasks %.2f s, on a core %.2f, computing %.2f, outside %.2f",
        mode,
        median(runs, Run::wall),
        walls[0],
        walls[walls.length - 1],
        median(runs, Run::tasks),
        median(runs, Run::cpu),
        median(runs, Run::arithmetic),
        median(runs, Run::outside));
  }

  private Run time(String name, Dataset<Row> query) throws InterruptedException {
    double[] wall = new double[1];
    PlanMetrics[] metrics = new PlanMetrics[1];
    List<StageTimes.Stage> stages =
        StageTimes.of(
            spark,
            () -> {
              try {
                metrics[0] =
                    PlanMetrics.of(
                        spark,
                        () -> {
                          long start = System.nanoTime();
                          if (name.equals("alone")) {
                            exchangeOnly(again(query));
                          } else {
                            noop(again(query));
                          }
                          wall[0] = (System.nanoTime() - start) / 1e9;
                        });
              } catch (InterruptedException e) {
                throw new IllegalStateException(e);
              }
            });
    return new Run(
        wall[0],
        stages.stream().mapToDouble(StageTimes.Stage::run).sum(),
        stages.stream().mapToDouble(StageTimes.Stage::cpu).sum(),
        ARITHMETIC.stream().mapToDouble(label -> metrics[0].total(label) / 1e9).sum());
  }

  /** Returns the query with a new plan, so that Spark plans and exchanges again. */
  private static Dataset<Row> again(Dataset<Row> query) {
    return query.select("*");
  }

  /** Runs the part of the plan below the assembling node; its tasks receive and count all rows. */
  private static void exchangeOnly(Dataset<Row> query) {
    SQLConf conf =
        ((org.apache.spark.sql.classic.SparkSession) query.sparkSession()).sessionState().conf();
    String adaptive = SQLConf.ADAPTIVE_EXECUTION_ENABLED().key();
    String before = conf.getConfString(adaptive);
    conf.setConfString(adaptive, "false"); // adaptive plans hide the nodes until they have run
    try {
      QueryExecution execution =
          ((org.apache.spark.sql.classic.Dataset<Row>) query).queryExecution();
      SparkPlan assembling =
          assembling(execution.executedPlan())
              .orElseThrow(
                  () ->
                      new IllegalArgumentException(
                          "--cases alone: one block is not cut; expected an --extent above "
                              + BLOCK_ROWS));
      SQLExecution.withNewExecutionId(
          execution,
          scala.Option.apply("exchange"),
          ScalaInterop.supplier(() -> assembling.children().head().execute().count()));
    } finally {
      conf.setConfString(adaptive, before);
    }
  }

  private static Optional<SparkPlan> assembling(SparkPlan plan) {
    return plan instanceof BlockStageExec stage && stage.assembled().isDefined()
        ? Optional.of(plan)
        : ScalaInterop.<SparkPlan>list(plan.children()).stream()
            .map(ExchangeBenchmark::assembling)
            .flatMap(Optional::stream)
            .findFirst();
  }

  /** The sum of the hashes of all rows, which does not depend on the rows' order. */
  private static BigDecimal sum(Dataset<Row> rows) {
    return again(rows)
        .selectExpr("xxhash64(*) AS hash")
        .selectExpr("sum(CAST(hash AS DECIMAL(38, 0)))")
        .first()
        .getDecimal(0);
  }

  private static double gib(long bytes) {
    return bytes / (double) (1L << 30);
  }

  /** The process' peak resident memory, if Linux reports it. */
  private static String mostResident() throws IOException {
    Path status = Path.of("/proc/self/status");
    if (!Files.isReadable(status)) {
      return "unknown memory";
    }
    try (Stream<String> lines = Files.lines(status)) {
      return lines
          .filter(line -> line.startsWith("VmHWM:"))
          .map(line -> line.replaceAll("\\s+", " "))
          .findFirst()
          .orElse("unknown memory");
    }
  }

  /** Selects one figure of a run, such as its CPU time. */
  private interface Figure {
    double of(Run run);
  }

  private static double ratio(List<List<Run>> both, Figure figure) {
    return median(both.get(0), figure) / median(both.get(1), figure);
  }

  private static double median(List<Run> runs, Figure figure) {
    double[] sorted = runs.stream().mapToDouble(figure::of).sorted().toArray();
    return DoubleStream.of(sorted[(sorted.length - 1) / 2], sorted[sorted.length / 2])
        .average()
        .orElseThrow();
  }

  private List<String> words(String option, String byDefault) {
    return Arrays.stream(arguments.option(option).orElse(byDefault).split(",", -1))
        .map(word -> word.toLowerCase(Locale.ROOT))
        .toList();
  }
}
