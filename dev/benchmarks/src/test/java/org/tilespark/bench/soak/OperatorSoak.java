package org.tilespark.bench.soak;

import java.io.PrintStream;
import java.time.Duration;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.apache.spark.sql.SparkSession;
import org.tilespark.examples.ExampleJob;
import org.tilespark.examples.JobArguments;
import org.tilespark.examples.JobArguments.Option;
import org.tilespark.examples.JobReport;
import org.tilespark.spark.runtime.ExecutorRuntime;

/**
 * Random operators on random blocks of random arrays, each compared element by element with plain
 * loops, for some minutes in one session; and the memory of the process between them. After each
 * query none of our buffers may be alive; heap and memory outside it must not grow after the first
 * fifth of the time. Local mode only.
 *
 * <p>A query that goes wrong is told with its seed, which {@code --only} runs again.
 */
public final class OperatorSoak {
  private static final JobArguments.Usage USAGE =
      new JobArguments.Usage(
          "operator-soak [options]",
          """
          Runs random operators on random blocks, checks every element, and watches the memory.

            --minutes N             how long (default: 1)
            --every N               queries between two looks at the memory (default: 100)
            --backend auto|gpu|cpu  who computes (default: auto)
            --seed N                seed of all queries (default: a new one)
            --only N                the one query of this seed, as a failure tells it
          """,
          List.of(),
          List.of(
              Option.checked("minutes", Double::parseDouble),
              Option.checked("every", Integer::parseInt),
              Option.BACKEND,
              Option.SEED,
              Option.checked("only", Long::parseLong)));

  /** Growth of the heap after the first fifth of the time that Spark's own records explain. */
  private static final long LARGEST_HEAP_GROWTH_BYTES = 64 << 20;

  /**
   * Growth outside the heap that is neither the JVM's nor kept for reuse. Arrays here are of all
   * sizes, so the C library is left with more holes than where all are of one.
   */
  private static final long LARGEST_NATIVE_GROWTH_BYTES = 48 << 20;

  private static final double MIB = 1 << 20;

  private OperatorSoak() {}

  /** Runs the soak in the session that spark-submit sets up. */
  public static void main(String[] args) {
    System.exit(run(args, System.out, System.err));
  }

  static int run(String[] args, PrintStream out, PrintStream err) {
    return ExampleJob.run(USAGE, args, OperatorSoak::run, out, err);
  }

  private static boolean run(SparkSession spark, JobArguments arguments, PrintStream out)
      throws Exception {
    JobReport report = new JobReport(out);
    Optional<String> only = arguments.option("only");
    if (only.isPresent()) {
      RandomQuery query = RandomQuery.of(Long.parseLong(only.get()));
      report.line("query", "%s", query);
      String wrong = query.run(spark).orElse("");
      report.line("check", "%s", wrong.isEmpty() ? "right" : "WRONG: " + wrong);
      return wrong.isEmpty();
    }
    double minutes = arguments.option("minutes").map(Double::parseDouble).orElse(1.0);
    int every = arguments.option("every").map(Integer::parseInt).orElse(100);
    long seed = arguments.seed();
    report.line("soak", "%.1f minutes, seed %d", minutes, seed);
    Random seeds = new Random(seed);
    Map<Operator, Integer> counts = new EnumMap<>(Operator.class);
    Duration length = Duration.ofMillis((long) (minutes * 60_000));
    long begin = System.nanoTime();
    long queries = 0;
    boolean right = true;
    SoakMemory start = null; // after the first fifth
    SoakMemory last = null;
    while (true) {
      long elapsed = System.nanoTime() - begin;
      if (queries % every == 0 && queries > 0 || elapsed >= length.toNanos()) {
        last = SoakMemory.look();
        report.line("memory", "after %5d queries: %s", queries, last);
        if (start == null && elapsed >= length.toNanos() / 5) {
          start = last;
        }
      }
      if (elapsed >= length.toNanos()) {
        break;
      }
      long querySeed = seeds.nextLong();
      RandomQuery query = RandomQuery.of(querySeed);
      Optional<String> wrong = query.run(spark);
      if (wrong.isPresent()) {
        report.line("query", "WRONG, seed %d: %s: %s", querySeed, query, wrong.get());
        right = false;
      }
      long alive = SoakMemory.aliveBytes(ExecutorRuntime.current());
      if (alive != 0) {
        report.line("query", "seed %d: %s left %d bytes alive", querySeed, query, alive);
        right = false;
      }
      counts.merge(query.operator(), 1, Integer::sum);
      queries++;
    }
    report.line("queries", "%d: %s", queries, counts.toString().toLowerCase(Locale.ROOT));
    right &= start == last || isFlat(report, start, last);
    report.line("check", right ? "right: every element, no growth, nothing alive" : "WRONG");
    return right;
  }

  private static boolean isFlat(JobReport report, SoakMemory start, SoakMemory end) {
    long onHeap = end.heapBytes() - start.heapBytes();
    long kept = end.keptBytes() - start.keptBytes();
    report.line(
        "growth",
        "since the first fifth: heap %.1f MiB (at most %d), kept for reuse %.1f MiB",
        onHeap / MIB,
        LARGEST_HEAP_GROWTH_BYTES >> 20,
        kept / MIB);
    boolean flat = onHeap <= LARGEST_HEAP_GROWTH_BYTES;
    if (!end.process().isComplete()) {
      report.line(
          "outside", "not judged: start the JVM with -XX:NativeMemoryTracking=summary, on Linux");
      return flat;
    }
    long others = end.process().notOfJvmBytes() - start.process().notOfJvmBytes() - kept;
    report.line(
        "outside",
        "neither the JVM's nor kept: grew by %.1f MiB (at most %d)",
        others / MIB,
        LARGEST_NATIVE_GROWTH_BYTES >> 20);
    return flat && others <= LARGEST_NATIVE_GROWTH_BYTES;
  }
}
