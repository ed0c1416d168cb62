package org.tilespark.bench.soak;

import java.io.PrintStream;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.spark.TaskKilled;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.scheduler.SparkListenerTaskStart;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.tilespark.bench.spark.BlockTransposeBenchmark;
import org.tilespark.examples.ExampleJob;
import org.tilespark.examples.JobArguments;
import org.tilespark.examples.JobArguments.Option;
import org.tilespark.examples.JobReport;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.runtime.ExecutorRuntime;

/**
 * Many queries in one session (whole ones, ones that a LIMIT cuts short, ones that fail downstream,
 * that are cancelled, or lose a task), and the memory of the process between them. After each that
 * ends early none of our buffers may be alive; what is kept for reuse, the heap after a collection,
 * and the memory outside the heap that is not the JVM's own must not grow after the first fifth of
 * the queries. Local mode only, since it looks at its own process.
 *
 * <p>The memory outside the heap is what Linux counts as resident, less the heap and what the JVM
 * says it has committed for itself (its threads, compiled code and classes grow for as long as it
 * learns), after the C library gave back what it holds unused. It is judged where the JVM keeps
 * that account: {@code -XX:NativeMemoryTracking=summary}, which {@code dev/bench soak} sets.
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
            --trace-native          tell apart at each look what changed outside the heap
            --seed N                seed of the mix of queries (default: a new one)
          """,
          List.of(),
          List.of(
              Option.checked("queries", Integer::parseInt),
              Option.checked("every", Integer::parseInt),
              Option.BACKEND,
              Option.flag("trace-native"),
              Option.SEED));

  /** Growth of the heap after the first fifth of the queries that Spark's own records explain. */
  private static final long LARGEST_HEAP_GROWTH_BYTES = 64 << 20;

  /** Growth outside the heap that is not the JVM's: two looks at rest differ by half of it. */
  private static final long LARGEST_NATIVE_GROWTH_BYTES = 16 << 20;

  private static final double MIB = 1 << 20;

  /** A query is cancelled, or one of its tasks killed, so long after its start at most. */
  private static final int MOST_DELAY_MILLIS = 30;

  private static final int UNARMED = -1;

  private static final int BLOCKS = 64;
  private static final int EXTENT = 256;
  private static final int PARTITIONS = 8;

  private final SparkSession spark;
  private final Dataset<Row> transposed;
  private final JobReport report;
  private final Random random;
  private final Killer killer = new Killer();
  private final AtomicInteger cancels = new AtomicInteger();

  private QuerySoak(SparkSession spark, Dataset<Row> transposed, Random random, JobReport report) {
    this.spark = spark;
    this.random = random;
    this.transposed = transposed;
    this.report = report;
    spark.sparkContext().addSparkListener(killer);
  }

  /** Runs the soak in the session that spark-submit sets up. */
  public static void main(String[] args) {
    System.exit(run(args, System.out, System.err));
  }

  static int run(String[] args, PrintStream out, PrintStream err) {
    return ExampleJob.run(USAGE, args, QuerySoak::run, out, err);
  }

  private static boolean run(SparkSession spark, JobArguments arguments, PrintStream out)
      throws Exception {
    int queries = arguments.option("queries").map(Integer::parseInt).orElse(2000);
    int every = arguments.option("every").map(Integer::parseInt).orElse(200);
    long seed = arguments.seed();
    JobReport report = new JobReport(out);
    Dataset<Row> matrix =
        BlockTransposeBenchmark.matrix(spark, BLOCKS, EXTENT, EXTENT, PARTITIONS).cache();
    Dataset<Row> transposed = MatrixBlocks.transpose(matrix);
    report.backend(transposed);
    report.line("mix", "%d queries, seed %d", queries, seed);
    QuerySoak soak = new QuerySoak(spark, transposed, new Random(seed), report);
    boolean right = soak.run(queries, every, arguments.flag("trace-native"));
    report.line("check", right ? "right: no growth, nothing alive" : "WRONG: see above");
    return right;
  }

  private boolean run(int queries, int every, boolean trace) throws Exception {
    SoakMemory start = null; // after the first fifth
    SoakMemory last = null;
    boolean right = true;
    for (int query = 1; query <= queries; query++) {
      right &= one(Kind.of(random));
      if (query % every == 0) {
        SoakMemory memory = SoakMemory.look();
        report.line("memory", "after %5d queries: %s", query, memory);
        if (trace && last != null) {
          report.line("", "since then %s", memory.process().changeSince(last.process()));
          report.line("", "threads %d, open on the device %s", memory.threads(), memory.objects());
        }
        if (start == null && 5L * query >= queries) {
          start = memory;
        }
        last = memory;
      }
    }
    report.line(
        "mix",
        "in the middle of their work, %d queries were cancelled and %d tasks killed",
        cancels.get(),
        killer.kills.get());
    return last == start ? right : right & judge(start, last);
  }

  private boolean judge(SoakMemory start, SoakMemory end) {
    long onHeap = end.heapBytes() - start.heapBytes();
    long kept = end.keptBytes() - start.keptBytes();
    report.line(
        "growth",
        "since the first fifth: heap %.1f MiB (at most %d), kept for reuse %.1f MiB (at most 0)",
        onHeap / MIB,
        LARGEST_HEAP_GROWTH_BYTES >> 20,
        kept / MIB);
    report.line("outside", "%s", end.process().changeSince(start.process()));
    boolean right = onHeap <= LARGEST_HEAP_GROWTH_BYTES && kept <= 0;
    if (!end.process().isComplete()) {
      report.line(
          "outside",
          "not judged: start the JVM with -XX:NativeMemoryTracking=summary, on Linux, with a"
              + " collector that says where its heap is");
      return right;
    }
    long outside = end.process().outsideHeapBytes() - start.process().outsideHeapBytes();
    long notOfJvm = end.process().notOfJvmBytes() - start.process().notOfJvmBytes();
    report.line(
        "outside",
        "grew by %.1f MiB, of which the JVM's own %.1f MiB, others %.1f MiB (at most %d)",
        outside / MIB,
        (outside - notOfJvm) / MIB,
        notOfJvm / MIB,
        LARGEST_NATIVE_GROWTH_BYTES >> 20);
    return right && notOfJvm <= LARGEST_NATIVE_GROWTH_BYTES;
  }

  /** One of the mix, with the ways to end early that leave nothing alive. */
  private enum Kind {
    LIMITED,
    FAILED,
    CANCELLED,
    KILLED,
    COUNTED,
    WHOLE;

    /** One in ten of each, but for whole ones. */
    static Kind of(Random random) {
      return values()[Math.min(random.nextInt(10), WHOLE.ordinal())];
    }
  }

  /** One query of the mix; true if it ended as it should. */
  private boolean one(Kind kind) throws InterruptedException {
    switch (kind) {
      case LIMITED -> {
        return transposed.limit(1).collectAsList().size() == 1 && nothingIsAlive(kind);
      }
      case FAILED -> {
        return failed() && nothingIsAlive(kind);
      }
      case CANCELLED -> {
        cancelled();
        return nothingIsAlive(kind);
      }
      case KILLED -> {
        killer.arm(random.nextInt(MOST_DELAY_MILLIS));
        noop(); // Spark runs the killed task again
        return nothingIsAlive(kind);
      }
      case COUNTED -> {
        return transposed.count() == BLOCKS;
      }
      case WHOLE -> {
        noop();
        return true;
      }
    }
    throw new IllegalStateException(kind.name());
  }

  private void noop() {
    transposed.write().format("noop").mode(SaveMode.Overwrite).save();
  }

  private boolean failed() {
    try {
      transposed.where("IF(col = 512, raise_error('on purpose'), size(values)) > 0").count();
    } catch (Exception e) { // what a failing task throws reaches Java undeclared
      return String.valueOf(e.getMessage()).contains("on purpose");
    }
    report.line("query", "should have failed");
    return false;
  }

  private void cancelled() throws InterruptedException {
    Thread query =
        new Thread(
            () -> {
              spark.sparkContext().setJobGroup("soak", "to be cancelled", true);
              try {
                noop();
              } catch (Exception e) { // Spark's own are undeclared
                cancels.incrementAndGet(); // else it was done before the cancel came
              }
            });
    query.start();
    TimeUnit.MILLISECONDS.sleep(random.nextInt(MOST_DELAY_MILLIS));
    spark.sparkContext().cancelJobGroup("soak");
    query.join();
  }

  /** Kills the next task that starts, once it is armed, a little later. */
  private final class Killer extends SparkListener {
    private final AtomicInteger delayMillis = new AtomicInteger(UNARMED);
    private final AtomicInteger kills = new AtomicInteger();

    void arm(int millis) {
      delayMillis.set(millis);
    }

    @Override
    public void onTaskStart(SparkListenerTaskStart start) {
      int delay = delayMillis.getAndSet(UNARMED);
      if (delay != UNARMED) {
        CompletableFuture.delayedExecutor(delay, TimeUnit.MILLISECONDS)
            .execute(
                () ->
                    spark.sparkContext().killTaskAttempt(start.taskInfo().taskId(), true, "soak"));
      }
    }

    @Override
    public void onTaskEnd(SparkListenerTaskEnd end) {
      if (end.reason() instanceof TaskKilled killed && killed.reason().equals("soak")) {
        kills.incrementAndGet();
      }
    }
  }

  private boolean nothingIsAlive(Kind kind) throws InterruptedException {
    long alive = SoakMemory.aliveBytes(ExecutorRuntime.current());
    if (alive != 0) {
      report.line("query", "%s left %d bytes alive", kind, alive);
    }
    return alive == 0;
  }
}
