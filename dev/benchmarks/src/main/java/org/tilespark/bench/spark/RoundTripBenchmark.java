package org.tilespark.bench.spark;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.storage.RDDInfo;
import org.apache.spark.storage.StorageLevel;
import org.tilespark.bench.arrow.PinnedCopies;
import org.tilespark.examples.ExampleJob;
import org.tilespark.examples.JobArguments;
import org.tilespark.examples.JobArguments.Option;
import org.tilespark.examples.JobReport;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.conf.Backend;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.permute.ComposePermutations;
import org.tilespark.spark.runtime.ExecutorRuntime;
import org.tilespark.spark.runtime.Gpu;
import org.tilespark.spark.stage.ProgramBlocks;

/**
 * Measures the cost of a transpose in a query, compared with a query that only copies the same
 * blocks to the same noop sink. All cases run in one session; each round runs every case once.
 *
 * <ul>
 *   <li>{@code cache}: the cached rows alone. {@code copy}: an identity that copies each row with
 *       its array to a new row; {@code reuse}: to the memory of a single row. {@code gpu}, {@code
 *       cpu}: the transpose.
 *   <li>{@code gpu2}, {@code gpu3}, {@code gpu4} (and {@code cpu2} ...): chains of 2, 3 or 4
 *       transposes, which the optimizer is told not to simplify.
 *   <li>{@code arrow}: blocks in Arrow buffers, copied once to rows; {@code arrowgpu}, {@code
 *       arrowcpu}: the transpose of these blocks.
 *   <li>{@code pinned}: no query, but plain pinned copies of as many bytes, up and down
 *       concurrently.
 * </ul>
 *
 * <p>Local mode only, since the process itself holds Arrow buffers and copies to the device.
 */
public final class RoundTripBenchmark {
  private static final JobArguments.Usage USAGE =
      new JobArguments.Usage(
          "roundtrip [options]",
          """
          Measures queries with and without transposes side by side, and says what a transpose costs.

            --commit ID             what is measured, for the head of the output
            --gib N                 size of the DataFrame's values (default: 16)
            --block-shape R,C       rows and columns of a block (default: 2048,2048, 16 MiB)
            --partitions N          (default: four for each core)
            --storage-level LEVEL   where the cached blocks lie (default: MEMORY_ONLY)
            --cases A,B,...         cache, copy, reuse, gpu, gpu2, gpu3, gpu4, cpu, cpu2, cpu3, cpu4,
                                    arrow, arrowgpu, arrowcpu, pinned (default: all of the GPU, and
                                    cpu and arrowcpu; without a GPU all of the CPU)
            --held-gib N            blocks that lie in Arrow buffers (default: 2)
            --warmups N, --rounds N rounds before the measured ones, and those (default: 1, 5)
            --csv FILE
            --seed N                seed of the sample that is checked (default: a new one)
          """,
          List.of(),
          List.of(
              Option.text("commit"),
              Option.checked("gib", Double::parseDouble),
              Option.checked("block-shape", BlockTransposeBenchmark::blockShape),
              Option.checked("partitions", Integer::parseInt),
              Option.checked("storage-level", StorageLevel::fromString),
              Option.text("cases"),
              Option.checked("held-gib", Double::parseDouble),
              Option.checked("warmups", Integer::parseInt),
              Option.checked("rounds", Integer::parseInt),
              Option.text("csv"),
              Option.SEED));

  private static final List<String> WITH_GPU =
      List.of(
          "pinned",
          "cache",
          "copy",
          "reuse",
          "gpu",
          "cpu",
          "gpu2",
          "gpu3",
          "gpu4",
          "arrow",
          "arrowgpu",
          "arrowcpu");
  private static final List<String> WITHOUT_GPU =
      List.of("cache", "copy", "reuse", "cpu", "cpu2", "cpu3", "cpu4", "arrow", "arrowcpu");
  private static final Set<String> ALL =
      Set.of(
          "pinned",
          "cache",
          "copy",
          "reuse",
          "gpu",
          "gpu2",
          "gpu3",
          "gpu4",
          "cpu",
          "cpu2",
          "cpu3",
          "cpu4",
          "arrow",
          "arrowgpu",
          "arrowcpu");

  // Promises for an H200: greatest ratio of a case's time to that of its baseline.
  private static final double MOST_OVER_COPY = 2.0;
  private static final double MOST_OVER_ARROW = 1.3;
  private static final double MOST_OVER_ONE = 1.15;

  private RoundTripBenchmark() {}

  /**
   * One query, or the plain copies.
   *
   * @param df null for the plain copies
   * @param transposes number of transposes in the plan
   * @param baseline the case by whose time this case's time is divided
   * @param most the greatest ratio that we promise on an H200; NaN for no promise
   */
  private record Case(
      String name,
      Dataset<Row> df,
      Backend backend,
      int transposes,
      String baseline,
      double most) {}

  /** In the order of the rounds. */
  private record Times(Case of, double[] seconds) {
    double median() {
      double[] sorted = sorted();
      return (sorted[(sorted.length - 1) / 2] + sorted[sorted.length / 2]) / 2;
    }

    double[] sorted() {
      double[] sorted = seconds.clone();
      Arrays.sort(sorted);
      return sorted;
    }
  }

  /** Runs the benchmark under spark-submit. */
  public static void main(String[] args) {
    System.exit(run(args, System.out, System.err));
  }

  static int run(String[] args, PrintStream out, PrintStream err) {
    return ExampleJob.run(USAGE, args, RoundTripBenchmark::run, out, err);
  }

  private static boolean run(SparkSession spark, JobArguments arguments, PrintStream out)
      throws IOException {
    int[] shape = // rows, cols
        BlockTransposeBenchmark.blockShape(arguments.option("block-shape").orElse("2048,2048"));
    long blockBytes = (long) Float.BYTES * shape[0] * shape[1];
    double gib = arguments.option("gib").map(Double::parseDouble).orElse(16.0);
    long blocks = Math.max(1, Math.round(gib * (1L << 30) / blockBytes));
    long bytes = Math.multiplyExact(blocks, blockBytes);
    int cores = spark.sparkContext().defaultParallelism();
    int partitions = arguments.option("partitions").map(Integer::parseInt).orElse(4 * cores);
    ExecutorRuntime runtime = ExecutorRuntime.current();
    Optional<Gpu> gpu = runtime.gpu(Backend.AUTO, null);
    List<String> names = names(arguments, gpu.isPresent());
    JobReport report = new JobReport(out);
    String machine = SparkMachine.describe(spark, gpu, arguments);
    String data =
        String.format(
            Locale.ROOT,
            "%,d blocks of %d x %d FLOAT, %.2f GiB of values, %d partitions",
            blocks,
            shape[0],
            shape[1],
            bytes / (double) (1L << 30),
            partitions);
    report.line("machine", "%s", machine);
    report.line("data", "%s", data);
    // Keeps the optimizer from simplifying chains of transposes.
    spark.conf().set("spark.sql.optimizer.excludedRules", ComposePermutations.class.getName());
    Dataset<Row> cached =
        BlockTransposeBenchmark.matrix(spark, blocks, shape[0], shape[1], partitions)
            .persist(
                StorageLevel.fromString(arguments.option("storage-level").orElse("MEMORY_ONLY")));
    long heldBytes =
        (long) (arguments.option("held-gib").map(Double::parseDouble).orElse(2.0) * (1L << 30));
    try (ArrowBlocks held =
            new ArrowBlocks(
                blocks,
                shape[0],
                shape[1],
                partitions,
                TileSparkConf.BATCH_SIZE.read(TileSparkConf.session()),
                heldBytes,
                runtime.memory(gpu));
        PinnedCopies copies =
            names.contains("pinned")
                ? new PinnedCopies(gpu.orElseThrow().device(), runtime.memory(gpu))
                : null) {
      SparkBenchmark.noop(cached);
      for (RDDInfo info : spark.sparkContext().getRDDStorageInfo()) {
        report.line(
            "cache",
            "%d of %d partitions, %.2f GiB in memory, %.2f GiB on disk",
            info.numCachedPartitions(),
            info.numPartitions(),
            info.memSize() / (double) (1L << 30),
            info.diskSize() / (double) (1L << 30));
      }
      List<Case> cases = cases(names, cached, held.read(spark));
      long seed = arguments.seed();
      if (!check(spark, cases, held, blocks, shape, seed, report)) {
        return false;
      }
      List<Times> times =
          measure(
              spark,
              cases,
              copies,
              bytes,
              arguments.option("warmups").map(Integer::parseInt).orElse(1),
              Math.max(1, arguments.option("rounds").map(Integer::parseInt).orElse(5)));
      print(times, bytes, out);
      if (arguments.option("csv").isPresent()) {
        writeCsv(Path.of(arguments.option("csv").get()), machine + "; " + data, times, bytes);
      }
      return true;
    } finally {
      cached.unpersist(true);
      spark.conf().unset("spark.sql.optimizer.excludedRules");
      spark.conf().unset(TileSparkConf.BACKEND.name());
    }
  }

  private static List<String> names(JobArguments arguments, boolean withGpu) {
    Optional<String> given = arguments.option("cases");
    if (given.isEmpty()) {
      return withGpu ? WITH_GPU : WITHOUT_GPU;
    }
    List<String> names = List.of(given.get().split(","));
    for (String name : names) {
      if (!ALL.contains(name)) {
        throw new IllegalArgumentException(
            "There is no case " + name + "; expected some of " + ALL);
      }
      if (!withGpu && (name.contains("gpu") || name.equals("pinned"))) {
        throw new IllegalArgumentException("Case " + name + " needs a GPU; there is none");
      }
    }
    return names;
  }

  private static List<Case> cases(List<String> names, Dataset<Row> cached, Dataset<Row> arrow) {
    List<Case> cases = new ArrayList<>();
    for (String name : names) {
      Backend backend = name.contains("gpu") ? Backend.GPU : Backend.CPU;
      String one = backend.name().toLowerCase(Locale.ROOT);
      cases.add(
          switch (name) {
            case "pinned" -> new Case(name, null, Backend.GPU, 0, "pinned", Double.NaN);
            case "cache" -> new Case(name, cached, Backend.CPU, 0, "copy", Double.NaN);
            case "copy" ->
                new Case(name, CopyRows.of(cached, false), Backend.CPU, 0, "copy", Double.NaN);
            case "reuse" ->
                new Case(name, CopyRows.of(cached, true), Backend.CPU, 0, "copy", Double.NaN);
            case "arrow" -> new Case(name, arrow, Backend.CPU, 0, "arrow", Double.NaN);
            case "arrowgpu", "arrowcpu" ->
                new Case(name, chain(arrow, 1), backend, 1, "arrow", MOST_OVER_ARROW);
            case "gpu", "cpu" ->
                new Case(name, chain(cached, 1), backend, 1, "copy", MOST_OVER_COPY);
            default -> {
              int length = name.charAt(name.length() - 1) - '0';
              yield new Case(name, chain(cached, length), backend, length, one, MOST_OVER_ONE);
            }
          });
    }
    return cases;
  }

  private static Dataset<Row> chain(Dataset<Row> df, int length) {
    return length == 0 ? df : chain(MatrixBlocks.transpose(df), length - 1);
  }

  private static List<Times> measure(
      SparkSession spark,
      List<Case> cases,
      PinnedCopies copies,
      long bytes,
      int warmups,
      int rounds) {
    List<Times> times = cases.stream().map(each -> new Times(each, new double[rounds])).toList();
    for (int round = -warmups; round < rounds; round++) {
      for (Times each : times) {
        use(spark, each.of());
        long start = System.nanoTime();
        if (each.of().df() == null) {
          copies.nanos(bytes);
        } else {
          SparkBenchmark.noop(each.of().df());
        }
        if (round >= 0) {
          each.seconds()[round] = (System.nanoTime() - start) / 1e9;
        }
      }
    }
    return times;
  }

  private static void use(SparkSession spark, Case each) {
    spark.conf().set(TileSparkConf.BACKEND.name(), each.backend().name().toLowerCase(Locale.ROOT));
  }

  /**
   * Checks that the plan of each query has the expected operators, and that its result is right.
   */
  private static boolean check(
      SparkSession spark,
      List<Case> cases,
      ArrowBlocks held,
      long blocks,
      int[] shape,
      long seed,
      JobReport report) {
    for (Case each : cases) {
      if (each.df() == null) {
        continue;
      }
      use(spark, each);
      LogicalPlan plan =
          ((org.apache.spark.sql.classic.Dataset<Row>) each.df()).queryExecution().optimizedPlan();
      int operators = operators(plan);
      boolean ofArrow = each.name().startsWith("arrow");
      String defect =
          operators != each.transposes()
              ? "the plan has " + operators + " transposes:\n" + plan
              : BlockTransposeBenchmark.check(
                  each.df(),
                  blocks,
                  shape[0],
                  shape[1],
                  each.transposes() % 2 == 1,
                  index -> ofArrow ? held.content(index) : index,
                  seed);
      if (defect != null) {
        report.line("check", "WRONG: %s: %s", each.name(), defect);
        return false;
      }
    }
    report.line("check", "right: every case (seed %d)", seed);
    return true;
  }

  private static int operators(LogicalPlan plan) {
    int below =
        ScalaInterop.<LogicalPlan>list(plan.children()).stream()
            .mapToInt(RoundTripBenchmark::operators)
            .sum();
    return below + (plan instanceof ProgramBlocks ? 1 : 0);
  }

  // --- tables ---

  private static void print(List<Times> times, long bytes, PrintStream out) {
    out.printf(
        "%-9s %8s %8s %18s %9s   %s%n",
        "case", "s", "GB/s", "least to most", "of pinned", "time / time of");
    for (Times each : times) {
      double[] sorted = each.sorted();
      OptionalDouble ratio = ratio(each, times, each.of().baseline());
      double most = each.of().most();
      out.printf(
          Locale.ROOT,
          "%-9s %8.3f %8.2f %18s %9s   %s%s%n",
          each.of().name(),
          each.median(),
          bytes / each.median() / 1e9,
          String.format(
              Locale.ROOT,
              "%.2f to %.2f",
              bytes / sorted[sorted.length - 1] / 1e9,
              bytes / sorted[0] / 1e9),
          cell(inverse(ratio(each, times, "pinned")), "%.2f"),
          ratio.isPresent() ? cell(ratio, "%.2f ") + each.of().baseline() : "",
          ratio.isEmpty() || Double.isNaN(most)
              ? ""
              : String.format(
                  Locale.ROOT,
                  ", promised for the GPU: %.2f at most%s",
                  most,
                  each.of().backend() == Backend.CPU
                      ? ""
                      : ratio.getAsDouble() <= most ? ", met" : ", MISSED"));
    }
    out.println("GB/s: bytes of values, counted once; medians of " + times.get(0).seconds().length);
  }

  private static void writeCsv(Path file, String head, List<Times> times, long bytes)
      throws IOException {
    StringBuilder csv = new StringBuilder("# " + head + "\n");
    csv.append(
        "case,transposes,bytes,median_s,least_s,most_s,gb_per_s,of_pinned,baseline,ratio,"
            + "most_ratio\n");
    for (Times each : times) {
      double[] sorted = each.sorted();
      csv.append(
          String.format(
              Locale.ROOT,
              "%s,%d,%d,%.4f,%.4f,%.4f,%.3f,%s,%s,%s,%s%n",
              each.of().name(),
              each.of().transposes(),
              bytes,
              each.median(),
              sorted[0],
              sorted[sorted.length - 1],
              bytes / each.median() / 1e9,
              cell(inverse(ratio(each, times, "pinned")), "%.4f"),
              each.of().baseline(),
              cell(ratio(each, times, each.of().baseline()), "%.4f"),
              Double.isNaN(each.of().most()) ? "" : Double.toString(each.of().most())));
    }
    Files.writeString(file, csv);
  }

  /** A case's median time divided by another's; empty if the other was not measured. */
  private static OptionalDouble ratio(Times each, List<Times> all, String baseline) {
    return all.stream()
        .filter(other -> other.of().name().equals(baseline))
        .mapToDouble(other -> each.median() / other.median())
        .findFirst();
  }

  private static OptionalDouble inverse(OptionalDouble ratio) {
    return ratio.isPresent() ? OptionalDouble.of(1 / ratio.getAsDouble()) : ratio;
  }

  private static String cell(OptionalDouble value, String format) {
    return value.isPresent() ? String.format(Locale.ROOT, format, value.getAsDouble()) : "";
  }
}
