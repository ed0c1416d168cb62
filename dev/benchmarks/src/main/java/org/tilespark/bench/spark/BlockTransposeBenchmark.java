package org.tilespark.bench.spark;

import java.io.PrintStream;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.function.LongUnaryOperator;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.spark.api.java.function.MapFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.storage.RDDInfo;
import org.apache.spark.storage.StorageLevel;
import org.tilespark.examples.ExampleJob;
import org.tilespark.examples.JobArguments;
import org.tilespark.examples.JobArguments.Option;
import org.tilespark.examples.JobReport;
import org.tilespark.spark.MatrixBlocks;

/**
 * Measures {@code MatrixBlocks.transpose} in bytes of blocks per second, from a DataFrame to
 * Spark's noop sink, and the same DataFrame to the same sink without the transpose.
 *
 * <p>The executors generate the blocks. With {@code --no-cache} every run generates them again and
 * stores none, so that a DataFrame larger than the heap can be measured.
 */
public final class BlockTransposeBenchmark {
  private static final JobArguments.Usage USAGE =
      new JobArguments.Usage(
          "bench [options]",
          """
          Transposes a DataFrame of FLOAT blocks several times, and says how fast.

            --gib N                 size of the DataFrame's values (default: 4)
            --block-shape R,C       rows and columns of a block (default: 2048,2048, 16 MiB)
            --partitions N          (default: four for each core)
            --backend auto|gpu|cpu  who computes (default: auto)
            --no-cache              make the blocks anew in every run, hold none
            --storage-level LEVEL   where the cached blocks lie (default: MEMORY_AND_DISK)
            --warmups N, --runs N   runs before the measured ones, and those (default: 1, 5)
            --seed N                seed of the sample that is checked (default: a new one)
          """,
          List.of(),
          List.of(
              Option.checked("gib", Double::parseDouble),
              Option.checked("block-shape", BlockTransposeBenchmark::blockShape),
              Option.checked("partitions", Integer::parseInt),
              Option.BACKEND,
              Option.flag("no-cache"),
              Option.checked("storage-level", StorageLevel::fromString),
              Option.checked("warmups", Integer::parseInt),
              Option.checked("runs", Integer::parseInt),
              Option.SEED));

  private static final int SAMPLES_PER_BLOCK = 8;

  private BlockTransposeBenchmark() {}

  /** Runs the benchmark under spark-submit. */
  public static void main(String[] args) {
    System.exit(run(args, System.out, System.err));
  }

  static int run(String[] args, PrintStream out, PrintStream err) {
    return ExampleJob.run(USAGE, args, BlockTransposeBenchmark::run, out, err);
  }

  private static boolean run(SparkSession spark, JobArguments arguments, PrintStream out) {
    int[] shape = blockShape(arguments.option("block-shape").orElse("2048,2048")); // rows, cols
    long blockBytes = (long) Float.BYTES * shape[0] * shape[1];
    double gib = arguments.option("gib").map(Double::parseDouble).orElse(4.0);
    long blocks = Math.max(1, Math.round(gib * (1L << 30) / blockBytes));
    int cores = spark.sparkContext().defaultParallelism();
    int partitions = arguments.option("partitions").map(Integer::parseInt).orElse(4 * cores);
    int warmups = arguments.option("warmups").map(Integer::parseInt).orElse(1);
    int runs = Math.max(1, arguments.option("runs").map(Integer::parseInt).orElse(5));
    JobReport report = new JobReport(out);

    report.line(
        "machine",
        "%s, %d cores of %s, heap of this JVM %.1f GiB, Spark %s, Java %s, %s",
        spark.sparkContext().master(),
        cores,
        System.getProperty("os.arch"),
        Runtime.getRuntime().maxMemory() / (double) (1L << 30),
        spark.version(),
        System.getProperty("java.version"),
        LocalDate.now(ZoneOffset.UTC));
    report.line(
        "data",
        "%,d blocks of %d x %d FLOAT, %.2f GiB of values, %d partitions",
        blocks,
        shape[0],
        shape[1],
        blocks * (double) blockBytes / (1L << 30),
        partitions);

    Dataset<Row> matrix = matrix(spark, blocks, shape[0], shape[1], partitions);
    if (!arguments.flag("no-cache")) {
      String level = arguments.option("storage-level").orElse("MEMORY_AND_DISK");
      matrix = matrix.persist(StorageLevel.fromString(level));
      SparkBenchmark.noop(matrix);
      for (RDDInfo cached : spark.sparkContext().getRDDStorageInfo()) {
        report.line(
            "cache",
            "%s, %.2f GiB in memory, %.2f GiB on disk",
            level,
            cached.memSize() / (double) (1L << 30),
            cached.diskSize() / (double) (1L << 30));
      }
    }
    Dataset<Row> transposed = MatrixBlocks.transpose(matrix);
    report.backend(transposed);

    long bytes = Math.multiplyExact(blocks, blockBytes);
    report.line("input", "%s", measure(matrix, warmups, runs, bytes));
    report.line("transpose", "%s", measure(transposed, warmups, runs, bytes));
    report.line(
        "counted", "bytes of values, once; input is the same DataFrame without the transpose");

    long seed = arguments.seed();
    String defect = check(transposed, blocks, shape[0], shape[1], true, index -> index, seed);
    report.line(
        "check",
        defect == null ? "right: %d elements of each block (seed %d)" : "WRONG: %3$s",
        SAMPLES_PER_BLOCK,
        seed,
        defect);
    return defect == null;
  }

  /** Returns a DataFrame of one column of blocks, which its tasks generate. */
  public static Dataset<Row> matrix(
      SparkSession spark, long blocks, int rows, int cols, int partitions) {
    return spark
        .range(0, blocks, 1, partitions)
        .map(
            (MapFunction<Long, FloatBlock>) index -> FloatBlock.numbered(index, rows, cols),
            Encoders.bean(FloatBlock.class))
        .select("row", "col", "rows", "cols", "values");
  }

  private static String measure(Dataset<Row> df, int warmups, int runs, long bytes) {
    for (int i = 0; i < warmups; i++) {
      SparkBenchmark.noop(df);
    }
    double[] gigabytesPerSecond = new double[runs];
    for (int i = 0; i < runs; i++) {
      long start = System.nanoTime();
      SparkBenchmark.noop(df);
      gigabytesPerSecond[i] = bytes / (double) (System.nanoTime() - start);
    }
    Arrays.sort(gigabytesPerSecond);
    double median = (gigabytesPerSecond[(runs - 1) / 2] + gigabytesPerSecond[runs / 2]) / 2;
    return String.format(
        Locale.ROOT,
        "median %.3f GB/s, %.3f to %.3f in %d runs (median %.2f s)",
        median,
        gigabytesPerSecond[0],
        gigabytesPerSecond[runs - 1],
        runs,
        bytes / median / 1e9);
  }

  /**
   * Checks some elements of each block; returns a message for the first wrong block, or null.
   *
   * @param transposed true if {@code df} holds the transposed blocks, false for the original blocks
   * @param content maps a block's number to the number of the {@link FloatBlock} with its values
   */
  static String check(
      Dataset<Row> df,
      long blocks,
      int rows,
      int cols,
      boolean transposed,
      LongUnaryOperator content,
      long seed) {
    int[] sample =
        new Random(seed).ints(SAMPLES_PER_BLOCK, 0, Math.multiplyExact(rows, cols)).toArray();
    String elements =
        Arrays.stream(sample)
            .mapToObj(place -> "values[" + place + "]")
            .collect(Collectors.joining(", ", "array(", ") AS sample"));
    String along = transposed ? "col" : "row"; // the axis along which blocks are stacked
    List<Row> found = df.selectExpr(along, "rows", "cols", elements).collectAsList();
    if (found.size() != blocks) {
      return "found " + found.size() + " blocks, expected " + blocks;
    }
    for (Row block : found) {
      long index = content.applyAsLong(block.getLong(0) / rows);
      List<Float> values = block.getList(3);
      List<Float> expected =
          IntStream.of(sample)
              .mapToObj(
                  place ->
                      FloatBlock.value(
                          index,
                          transposed ? Math.addExact(place % rows * cols, place / rows) : place))
              .toList();
      if (block.getInt(1) != (transposed ? cols : rows)
          || block.getInt(2) != (transposed ? rows : cols)
          || !values.equals(expected)) {
        return "block at "
            + along
            + " "
            + block.getLong(0)
            + " holds "
            + values
            + " at "
            + Arrays.toString(sample)
            + ", expected "
            + expected;
      }
    }
    return null;
  }

  static int[] blockShape(String text) {
    int[] shape = Arrays.stream(text.split(",", -1)).mapToInt(Integer::parseInt).toArray();
    if (shape.length != 2 || shape[0] < 1 || shape[1] < 1) {
      throw new IllegalArgumentException("expected rows,columns");
    }
    return shape;
  }
}
