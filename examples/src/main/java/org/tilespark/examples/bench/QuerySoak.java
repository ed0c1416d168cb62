package org.tilespark.examples.bench;

import java.io.IOException;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryUsage;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.tilespark.examples.ExampleJob;
import org.tilespark.examples.JobArguments;
import org.tilespark.examples.JobArguments.Option;
import org.tilespark.examples.JobReport;
import org.tilespark.spark.ExecutorRuntime;
import org.tilespark.spark.MatrixBlocks;

/**
 * Many queries in one session (whole ones, ones a LIMIT cuts short, ones that fail downstream, ones
 * that are cancelled), and the memory of the process between them. Between queries none of our
 * buffers may be alive, and what is kept for reuse must not grow. The memory outside the heap is
 * shown but not judged: the JVM's threads and compiled code, and the CUDA driver, are in it. Local
 * mode only, since it looks at its own process.
 */
public final class QuerySoak {
  private static final JobArguments.Usage USAGE =
      new JobArguments.Usage(
          "soak [options]",
          """
          Runs many queries in one session and watches the memory of the process.

            --queries N             how many (default: 2000)
            --every N               queries between two looks at the memory (default: 200)
            --backend auto|gpu|cpu  who computes (default: auto)
            --seed N                seed of the mix of queries (default: a new one)
          """,
          List.of(),
          List.of(
              Option.checked("queries", Integer::parseInt),
              Option.checked("every", Integer::parseInt),
              Option.BACKEND,
              Option.SEED));

  /** Growth of the heap after the first fifth of the queries that Spark's own records explain. */
  private static final long LARGEST_HEAP_GROWTH_BYTES = 64 << 20;

  private static final int BLOCKS = 64;
  private static final int EXTENT = 256;
  private static final int PARTITIONS = 8;

  private QuerySoak() {}

  /** Runs the soak in the session that spark-submit sets up. */
  public static void main(String[] args) {
    System.exit(ExampleJob.run(USAGE, args, QuerySoak::run, System.out, System.err));
  }

  static boolean run(SparkSession spark, JobArguments arguments, PrintStream out) throws Exception {
    int queries = arguments.option("queries").map(Integer::parseInt).orElse(2000);
    int every = arguments.option("every").map(Integer::parseInt).orElse(200);
    long seed = arguments.seed();
    Random random = new Random(seed);
    JobReport report = new JobReport(out);
    Dataset<Row> matrix =
        BlockTransposeBenchmark.matrix(spark, BLOCKS, EXTENT, EXTENT, PARTITIONS).cache();
    Dataset<Row> transposed = MatrixBlocks.transpose(matrix);
    report.backend(transposed);
    report.line("mix", "%d queries, seed %d", queries, seed);
    List<Memory> looks = new ArrayList<>();
    boolean right = true;
    for (int query = 1; query <= queries; query++) {
      right &= one(spark, transposed, random.nextInt(10), report);
      if (query % every == 0) {
        Memory memory = Memory.look();
        report.line("memory", "after %5d queries: %s", query, memory);
        looks.add(memory);
        right &= memory.aliveBytes() == 0;
      }
    }
    int first = looks.size() / 5;
    if (looks.size() > first + 1) {
      Memory start = looks.get(first);
      Memory end = looks.get(looks.size() - 1);
      long onHeap = end.heapBytes() - start.heapBytes();
      long outside = end.nativeBytes() - start.nativeBytes();
      report.line(
          "growth",
          "since the first fifth: heap %d MiB, outside the heap %d MiB",
          onHeap >> 20,
          outside >> 20);
      right &= onHeap <= LARGEST_HEAP_GROWTH_BYTES && end.keptBytes() <= start.keptBytes();
    }
    report.line("check", right ? "right: no growth, nothing alive" : "WRONG: see above");
    return right;
  }

  /** One query of the mix; true if it ended as it should. */
  private static boolean one(
      SparkSession spark, Dataset<Row> transposed, int kind, JobReport report)
      throws InterruptedException {
    switch (kind) {
      case 0 -> {
        return transposed.limit(1).collectAsList().size() == 1;
      }
      case 1 -> {
        return failed(transposed, report);
      }
      case 2 -> {
        cancelled(spark, transposed);
        return true;
      }
      case 3 -> {
        return transposed.count() == BLOCKS;
      }
      default -> {
        transposed.write().format("noop").mode(SaveMode.Overwrite).save();
        return true;
      }
    }
  }

  private static boolean failed(Dataset<Row> transposed, JobReport report) {
    try {
      transposed.where("IF(row = 512, raise_error('on purpose'), size(values)) > 0").count();
    } catch (Exception e) { // what a failing task throws reaches Java undeclared
      return String.valueOf(e.getMessage()).contains("on purpose");
    }
    report.line("query", "should have failed");
    return false;
  }

  private static void cancelled(SparkSession spark, Dataset<Row> transposed)
      throws InterruptedException {
    Thread query =
        new Thread(
            () -> {
              spark.sparkContext().setJobGroup("soak", "to be cancelled", true);
              try {
                transposed.write().format("noop").mode(SaveMode.Overwrite).save();
              } catch (RuntimeException e) {
                // cancelled, as intended; or done before the cancel came
              }
            });
    query.start();
    TimeUnit.MILLISECONDS.sleep(10);
    spark.sparkContext().cancelJobGroup("soak");
    query.join();
  }

  /**
   * The process's memory when nothing runs.
   *
   * @param heapBytes used after a collection
   * @param nativeBytes resident, less the heap that the JVM has committed
   * @param aliveBytes of our buffers, on the host and the device
   * @param keptBytes of host memory kept for reuse
   */
  private record Memory(long heapBytes, long nativeBytes, long aliveBytes, long keptBytes) {
    static Memory look() throws IOException, InterruptedException {
      ExecutorRuntime runtime = ExecutorRuntime.current();
      long alive = alive(runtime);
      for (int i = 0; i < 100 && alive > 0; i++) { // tasks of a cancelled query may still be ending
        TimeUnit.MILLISECONDS.sleep(20);
        alive = alive(runtime);
      }
      System.gc();
      MemoryUsage heap = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage();
      return new Memory(
          heap.getUsed(), resident() - heap.getCommitted(), alive, runtime.keptHostBytes());
    }

    private static long alive(ExecutorRuntime runtime) {
      return runtime.liveArrowBytes() + runtime.liveDeviceBytes();
    }

    /** As Linux counts it; 0 elsewhere. */
    private static long resident() throws IOException {
      Path status = Path.of("/proc/self/status");
      if (!Files.exists(status)) {
        return 0;
      }
      return Arrays.stream(Files.readString(status, StandardCharsets.US_ASCII).split("\n", -1))
          .filter(line -> line.startsWith("VmRSS:"))
          .mapToLong(line -> Long.parseLong(line.replaceAll("[^0-9]", "")) << 10)
          .findFirst()
          .orElse(0);
    }

    @Override
    public String toString() {
      return String.format(
          Locale.ROOT,
          "heap %d MiB, outside it %d MiB, alive %d bytes, kept %d MiB",
          heapBytes >> 20,
          nativeBytes >> 20,
          aliveBytes,
          keptBytes >> 20);
    }
  }
}
