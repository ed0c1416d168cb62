package org.tilespark.bench.spark;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.api.java.function.MapFunction;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.storage.StorageLevel;
import org.tilespark.examples.ExampleJob;
import org.tilespark.examples.JobArguments;
import org.tilespark.examples.JobArguments.Option;
import org.tilespark.examples.JobReport;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.conf.TileSparkConf;

/**
 * Measures the figures of docs/tuning.md in one run: a transpose of cached FLOAT blocks to the noop
 * sink, with one setting changed at a time, and a product under several shuffle settings. Settings
 * that an executor reads at its start get a new Spark context in the same JVM.
 */
public final class TuningBenchmark {
  private static final JobArguments.Usage USAGE =
      new JobArguments.Usage(
          "tuning [options]",
          """
          Transposes the same blocks under many settings, one changed at a time.

            --commit ID             what is measured, for the head of the output
            --sweeps A,B,...        batch, blocks, partitions, tasks, pinned, cache, shuffle
                                    (default: all)
            --gib N                 size of the DataFrame's values (default: 4)
            --shuffle-gib N         the same for the sweep shuffle, which writes files (default: 2)
            --block-shape R,C       rows and columns of a block (default: 2048,2048, 16 MiB)
            --backend auto|gpu|cpu  who computes (default: auto)
            --warmups N, --runs N   runs before the measured ones, and those (default: 1, 3)
            --csv FILE
          """,
          List.of(),
          List.of(
              Option.text("commit"),
              Option.text("sweeps"),
              Option.checked("gib", Double::parseDouble),
              Option.checked("shuffle-gib", Double::parseDouble),
              Option.checked("block-shape", BlockTransposeBenchmark::blockShape),
              Option.BACKEND,
              Option.checked("warmups", Integer::parseInt),
              Option.checked("runs", Integer::parseInt),
              Option.text("csv")));

  private static final String ALL_SWEEPS = "batch,blocks,partitions,tasks,pinned,cache,shuffle";
  private static final int PARTITIONS_PER_CORE = 4;

  private final JobArguments arguments;
  private final int[] shape; // rows, cols of a block
  private final JobReport report;

  /** Queries of the cached blocks, to the noop sink. */
  private enum Query {
    TRANSPOSE,
    /** A shuffle of the blocks, then a transpose. */
    SHUFFLE
  }

  /**
   * One row of the table.
   *
   * @param sweep the setting that is varied
   * @param value value of the setting
   * @param application configuration of the Spark context, which executors read at their start
   * @param session configuration of the query
   * @param shape rows and columns of a block
   * @param partitionsPerCore partitions of the DataFrame per core
   * @param level storage level of the cache
   * @param query query of the blocks
   * @param random true for blocks of random fractions, false for consecutive integers
   */
  private record Setting(
      String sweep,
      String value,
      Map<String, String> application,
      Map<String, String> session,
      List<Integer> shape,
      double partitionsPerCore,
      String level,
      Query query,
      boolean random) {
    static Setting of(String sweep, String value, int[] shape) {
      return new Setting(
          sweep,
          value,
          Map.of(),
          Map.of(),
          Arrays.stream(shape).boxed().toList(),
          PARTITIONS_PER_CORE,
          "MEMORY_ONLY",
          Query.TRANSPOSE,
          false);
    }

    Setting application(Map<String, String> changed) {
      return new Setting(
          sweep, value, changed, session, shape, partitionsPerCore, level, query, random);
    }

    Setting session(Map<String, String> changed) {
      return new Setting(
          sweep, value, application, changed, shape, partitionsPerCore, level, query, random);
    }

    Setting partitionsPerCore(double changed) {
      return new Setting(sweep, value, application, session, shape, changed, level, query, random);
    }

    Setting level(String changed) {
      return new Setting(
          sweep, value, application, session, shape, partitionsPerCore, changed, query, random);
    }

    Setting query(Query changed, boolean randomBlocks) {
      return new Setting(
          sweep,
          value,
          application,
          session,
          shape,
          partitionsPerCore,
          level,
          changed,
          randomBlocks);
    }

    /** A key for the cached DataFrame, which settings with equal keys share. */
    List<Object> data() {
      return List.of(application, shape, partitionsPerCore, level, query, random);
    }
  }

  private record Result(Setting of, double[] rates, double shuffledPerByte) {
    double median() {
      return (rates[(rates.length - 1) / 2] + rates[rates.length / 2]) / 2;
    }
  }

  private TuningBenchmark(JobArguments arguments, JobReport report) {
    this.arguments = arguments;
    this.shape =
        BlockTransposeBenchmark.blockShape(arguments.option("block-shape").orElse("2048,2048"));
    this.report = report;
  }

  /** Runs the benchmark with the configuration of spark-submit. */
  public static void main(String[] args) {
    System.exit(run(args, System.out, System.err));
  }

  static int run(String[] args, PrintStream out, PrintStream err) {
    return ExampleJob.runWithoutSession(USAGE, args, TuningBenchmark::run, out, err);
  }

  private static boolean run(JobArguments arguments, PrintStream out) throws IOException {
    TuningBenchmark benchmark = new TuningBenchmark(arguments, new JobReport(out));
    List<Setting> settings = new ArrayList<>();
    for (String sweep : arguments.option("sweeps").orElse(ALL_SWEEPS).split(",")) {
      settings.addAll(benchmark.settings(sweep));
    }
    List<Result> results = benchmark.measure(settings, out);
    if (arguments.option("csv").isPresent()) {
      writeCsv(Path.of(arguments.option("csv").get()), results);
    }
    return true;
  }

  /** Returns the rows of one sweep. */
  private List<Setting> settings(String sweep) {
    List<Setting> settings = new ArrayList<>();
    switch (sweep) {
      case "batch" -> {
        for (String size : List.of("4m", "8m", "16m", "32m", "64m", "128m", "256m")) {
          settings.add(
              Setting.of(sweep, size, shape)
                  .session(Map.of(TileSparkConf.BATCH_SIZE.name(), size)));
        }
      }
      case "blocks" -> {
        for (int divisor : new int[] {16, 8, 4, 2, 1}) {
          int[] smaller = {Math.max(1, shape[0] / divisor), Math.max(1, shape[1] / divisor)};
          settings.add(Setting.of(sweep, smaller[0] + " x " + smaller[1], smaller));
        }
      }
      case "partitions" -> {
        for (int perCore : new int[] {1, 2, 4, 8, 16}) {
          settings.add(Setting.of(sweep, perCore + " per core", shape).partitionsPerCore(perCore));
        }
      }
      case "tasks" -> {
        for (String tasks : List.of("1", "2", "4", "8", "16")) {
          settings.add(
              Setting.of(sweep, tasks, shape)
                  .application(Map.of(TileSparkConf.CONCURRENT_TASKS.name(), tasks)));
        }
      }
      case "pinned" -> {
        for (String size : List.of("0", "512m", "1g", "2g", "4g", "8g")) {
          settings.add(
              Setting.of(sweep, size, shape)
                  .application(Map.of(TileSparkConf.PINNED_POOL_SIZE.name(), size)));
        }
      }
      case "cache" -> {
        settings.add(Setting.of(sweep, "MEMORY_ONLY", shape));
        settings.add(Setting.of(sweep, "MEMORY_ONLY_SER", shape).level("MEMORY_ONLY_SER"));
        settings.add(
            Setting.of(sweep, "OFF_HEAP", shape)
                .level("OFF_HEAP")
                .application(
                    Map.of(
                        "spark.memory.offHeap.enabled",
                        "true",
                        "spark.memory.offHeap.size",
                        (long) Math.ceil(gib("gib", 4) * 1536) + "m")));
      }
      case "shuffle" -> {
        for (boolean random : new boolean[] {true, false}) {
          String data = random ? "random" : "in order";
          settings.add(shuffle("off, " + data, random, Map.of("spark.shuffle.compress", "false")));
          for (String codec : List.of("lz4", "zstd")) {
            settings.add(
                shuffle(codec + ", " + data, random, Map.of("spark.io.compression.codec", codec)));
          }
        }
      }
      default ->
          throw new IllegalArgumentException(
              "There is no sweep '" + sweep + "'; expected some of " + ALL_SWEEPS);
    }
    return settings;
  }

  private Setting shuffle(String value, boolean random, Map<String, String> application) {
    return Setting.of("shuffle", value, shape)
        .application(application)
        .query(Query.SHUFFLE, random);
  }

  private double gib(String option, double byDefault) {
    return arguments.option(option).map(Double::parseDouble).orElse(byDefault);
  }

  // --- measuring ---

  private List<Result> measure(List<Setting> settings, PrintStream out) {
    List<Result> results = new ArrayList<>();
    SparkSession spark = null;
    Setting before = null;
    Dataset<Row> cached = null;
    try {
      for (Setting setting : settings) {
        if (before == null || !before.application().equals(setting.application())) {
          if (spark != null) {
            spark.stop();
          }
          spark = start(setting, before == null);
          cached = null;
        }
        if (cached == null || !before.data().equals(setting.data())) {
          if (cached != null) {
            cached.unpersist(true);
          }
          cached = cache(spark, setting);
        }
        if (before == null) {
          out.printf(
              "%-10s %-16s %8s %18s %20s%n",
              "sweep", "setting", "GB/s", "least to most", "shuffled per byte");
        }
        before = setting;
        Result result = measure(spark, setting, cached);
        results.add(result);
        print(result, out);
      }
    } finally {
      if (spark != null) {
        spark.stop();
      }
    }
    return results;
  }

  private SparkSession start(Setting setting, boolean first) {
    Map<String, String> conf = new HashMap<>(setting.application());
    arguments.option("backend").ifPresent(it -> conf.put(TileSparkConf.BACKEND.name(), it));
    SparkSession spark = ExampleJob.session("tilespark tuning", conf);
    if (first) {
      report.line(
          "machine",
          "%s, %d cores, heap of this JVM %.1f GiB, Spark %s, Java %s, commit %s, %s",
          spark.sparkContext().master(),
          spark.sparkContext().defaultParallelism(),
          Runtime.getRuntime().maxMemory() / (double) (1L << 30),
          spark.version(),
          System.getProperty("java.version"),
          arguments.option("commit").orElse("unknown"),
          LocalDate.now(ZoneOffset.UTC));
      report.line(
          "data",
          "%.2f GiB of FLOAT blocks of %d x %d, cached, %d partitions per core; %.2f GiB shuffled",
          gib("gib", 4),
          shape[0],
          shape[1],
          PARTITIONS_PER_CORE,
          gib("shuffle-gib", 2));
      report.backend(MatrixBlocks.transpose(blocks(spark, setting, 1)));
    }
    return spark;
  }

  private Dataset<Row> cache(SparkSession spark, Setting setting) {
    Dataset<Row> blocks = blocks(spark, setting, count(setting));
    SparkBenchmark.noop(blocks.persist(StorageLevel.fromString(setting.level())));
    return blocks;
  }

  private long count(Setting setting) {
    double gib = setting.query() == Query.SHUFFLE ? gib("shuffle-gib", 2) : gib("gib", 4);
    return Math.max(1, Math.round(gib * (1L << 30) / blockBytes(setting)));
  }

  /** Bytes of values that the query reads. */
  private long bytes(Setting setting) {
    return count(setting) * blockBytes(setting);
  }

  private Dataset<Row> query(SparkSession spark, Setting setting, Dataset<Row> cached) {
    return switch (setting.query()) {
      case TRANSPOSE -> MatrixBlocks.transpose(cached);
      case SHUFFLE ->
          MatrixBlocks.transpose(cached.repartition(partitions(spark, setting), cached.col("row")));
    };
  }

  private static long blockBytes(Setting setting) {
    return (long) Float.BYTES * setting.shape().get(0) * setting.shape().get(1);
  }

  private static Dataset<Row> blocks(SparkSession spark, Setting setting, long count) {
    int partitions = partitions(spark, setting);
    int rows = setting.shape().get(0);
    int cols = setting.shape().get(1);
    return setting.random()
        ? spark
            .range(0, count, 1, partitions)
            .map(
                (MapFunction<Long, FloatBlock>) index -> FloatBlock.random(index, rows, cols),
                Encoders.bean(FloatBlock.class))
            .select("row", "col", "rows", "cols", "values")
        : BlockTransposeBenchmark.matrix(spark, count, rows, cols, partitions);
  }

  private static int partitions(SparkSession spark, Setting setting) {
    return (int)
        Math.max(1, setting.partitionsPerCore() * spark.sparkContext().defaultParallelism());
  }

  private Result measure(SparkSession spark, Setting setting, Dataset<Row> cached) {
    setting.session().forEach(spark.conf()::set);
    Shuffled shuffled = new Shuffled();
    spark.sparkContext().addSparkListener(shuffled);
    try {
      Dataset<Row> query = query(spark, setting, cached);
      int warmups = arguments.option("warmups").map(Integer::parseInt).orElse(1);
      int runs = Math.max(1, arguments.option("runs").map(Integer::parseInt).orElse(3));
      long bytes = bytes(setting);
      double[] rates = new double[runs];
      for (int run = -warmups; run < runs; run++) {
        long start = System.nanoTime();
        SparkBenchmark.noop(query);
        if (run >= 0) {
          rates[run] = bytes / (double) (System.nanoTime() - start);
        }
      }
      Arrays.sort(rates);
      ListenerEvents.await(spark);
      return new Result(
          setting, rates, shuffled.bytes.get() / (double) bytes / Math.addExact(warmups, runs));
    } finally {
      spark.sparkContext().removeSparkListener(shuffled);
      setting.session().keySet().forEach(spark.conf()::unset);
    }
  }

  /** Sums the bytes that tasks write for shuffles. */
  private static final class Shuffled extends SparkListener {
    private final AtomicLong bytes = new AtomicLong();

    @Override
    public void onTaskEnd(SparkListenerTaskEnd end) {
      if (end.taskMetrics() != null) {
        bytes.addAndGet(end.taskMetrics().shuffleWriteMetrics().bytesWritten());
      }
    }
  }

  // --- tables ---

  private static void print(Result result, PrintStream out) {
    out.printf(
        Locale.ROOT,
        "%-10s %-16s %8.2f %18s %20s%n",
        result.of().sweep(),
        result.of().value(),
        result.median(),
        String.format(
            Locale.ROOT,
            "%.2f to %.2f",
            result.rates()[0],
            result.rates()[result.rates().length - 1]),
        result.shuffledPerByte() > 0
            ? String.format(Locale.ROOT, "%.3f", result.shuffledPerByte())
            : "");
  }

  private static void writeCsv(Path file, List<Result> results) throws IOException {
    StringBuilder csv =
        new StringBuilder(
            "sweep,setting,gb_per_s,least_gb_per_s,most_gb_per_s,shuffled_per_byte\n");
    for (Result result : results) {
      csv.append(
          String.format(
              Locale.ROOT,
              "%s,%s,%.6g,%.6g,%.6g,%.4f%n",
              result.of().sweep(),
              result.of().value().replace(", ", "/"),
              result.median(),
              result.rates()[0],
              result.rates()[result.rates().length - 1],
              result.shuffledPerByte()));
    }
    Files.writeString(file, csv);
  }
}
