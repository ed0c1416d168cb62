package org.tilespark.spark.cluster;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerStageSubmitted;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.cluster.FaultSchedule.Fault;
import org.tilespark.spark.cluster.FaultSchedule.Kind;
import org.tilespark.spark.cluster.FaultSchedule.Phase;
import org.tilespark.spark.cluster.FaultSchedule.Query;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.options.FftOptions;
import org.tilespark.spark.options.MultiplyOptions;
import org.tilespark.spark.testing.TestArray;
import org.tilespark.spark.testing.TestField;
import org.tilespark.spark.testing.TestProduct;

/**
 * An application that runs queries under the faults of a {@link FaultSchedule}, one after the
 * other. Every answer must have the bits of one without faults, every query must end, and nothing
 * may be held afterwards. Arguments: seed, count, and a directory that all processes share.
 */
public final class FaultScheduleJob {
  private static final int EXECUTORS = 2;
  private static final long QUERY_LIMIT_SECONDS = 240;
  private static final int FAULTS_PER_CHECK = 10;

  private final SparkSession spark;
  private final Executors executors;
  private final Path shared;
  private final ExecutorService threads =
      java.util.concurrent.Executors.newCachedThreadPool(
          body -> {
            Thread thread = new Thread(body, "query-or-fault");
            thread.setDaemon(true);
            return thread;
          });
  private final Map<Query, Map<String, List<?>>> right = new EnumMap<>(Query.class);
  private final AtomicReference<Runnable> atFetch = new AtomicReference<>(); // null if none is due

  private FaultScheduleJob(SparkSession spark, Path shared) {
    this.spark = spark;
    this.executors = new Executors(spark.sparkContext(), EXECUTORS);
    this.shared = shared;
    spark.conf().set(TileSparkConf.FOURIER_TASK_SIZE.name(), "0"); // transforms exchange twice
    spark
        .sparkContext()
        .addSparkListener(
            new SparkListener() {
              @Override
              public void onStageSubmitted(SparkListenerStageSubmitted submitted) {
                if (submitted.stageInfo().parentIds().nonEmpty()) {
                  Runnable fault = atFetch.getAndSet(null);
                  if (fault != null) {
                    threads.execute(fault);
                  }
                }
              }
            });
  }

  public static void main(String[] args) throws Exception {
    long seed = Long.parseLong(args[0]);
    int count = Integer.parseInt(args[1]);
    List<String> failed = new ArrayList<>();
    Map<Kind, Integer> struck = new EnumMap<>(Kind.class);
    try (SparkSession spark = SparkSession.builder().getOrCreate()) {
      FaultScheduleJob job = new FaultScheduleJob(spark, Path.of(args[2]));
      job.executors.awaitAll();
      job.withoutFaults();
      long start = System.nanoTime();
      int run = 0;
      for (Fault fault : FaultSchedule.of(seed, count, EXECUTORS)) {
        long began = System.nanoTime();
        String how = job.run(fault, struck);
        run++;
        System.out.println(
            "schedule: "
                + fault
                + ": "
                + how
                + ", "
                + (System.nanoTime() - began) / 1_000_000
                + " ms");
        if (!how.endsWith("right")) {
          failed.add(fault + ": " + how);
        }
        if (run % FAULTS_PER_CHECK == 0 || run == count) {
          job.executors.assertNothingAlive();
        }
      }
      System.out.println(
          "schedule: seed "
              + seed
              + ", "
              + run
              + " faults in "
              + (System.nanoTime() - start) / 1_000_000_000
              + " s; struck "
              + struck
              + "; failed "
              + failed);
    }
    if (!failed.isEmpty()) {
      throw new AssertionError("seed " + seed + ": " + failed);
    }
  }

  private void withoutFaults() {
    for (Query query : Query.values()) {
      right.put(query, answer(query, row -> {}, row -> {}));
    }
    TestProduct a = TestProduct.random(ElementType.FLOAT64, 60, 50, 1);
    TestProduct b = TestProduct.random(ElementType.FLOAT64, 50, 40, 2);
    TestProduct.assertProduct(a, b, product(row -> {}));
    TestField.of(spectrum(row -> {}), 18, 8, 9)
        .assertNear(field().fft("xyz"), ElementType.FLOAT64, "fft");
    TestArray.matrix(ElementType.FLOAT32, 240, 180, 50, 70)
        .assertPermuted(
            org.tilespark.layout.Permutation.of(0, 1),
            reblocked(row -> {}).selectExpr("*", "cast(null AS STRING) AS tag"));
  }

  /** Runs the query of a fault; says what came of it. */
  private String run(Fault fault, Map<Kind, Integer> struck) throws Exception {
    executors.awaitAll(); // the fault before may have struck after its query
    List<Map.Entry<String, Long>> alive = List.copyOf(executors.pids().entrySet());
    Map.Entry<String, Long> victim = alive.get(fault.executor());
    arm(fault, victim.getKey());
    int removed = executors.removed();
    Path mark = shared.resolve("fault-" + fault.number());
    Interference.AtRow strike = strike(fault, mark, victim.getValue());
    Interference.AtRow nothing = row -> {};
    atFetch.set(fault.phase() == Phase.FETCH ? () -> atFetch(fault, mark, victim) : null);
    Future<Map<String, List<?>>> answer =
        threads.submit(
            () ->
                answer(
                    fault.query(),
                    fault.phase() == Phase.MAP ? strike : nothing,
                    fault.phase() == Phase.RESULT ? strike : nothing));
    String how;
    try {
      Map<String, List<?>> found = answer.get(QUERY_LIMIT_SECONDS, TimeUnit.SECONDS);
      how = found.equals(right.get(fault.query())) ? "right" : "WRONG";
    } catch (TimeoutException e) {
      spark.sparkContext().cancelAllJobs();
      how = "HANGS";
    } catch (ExecutionException e) {
      e.printStackTrace();
      how = "FAILED with " + e.getCause();
    }
    atFetch.set(null);
    boolean isSet = fault.kind() == Kind.REFUSE_MEMORY || fault.kind() == Kind.FAIL_WRITE;
    boolean marked = Files.deleteIfExists(mark) || isSet && executors.any(ArmedFaults::struck);
    if (marked) {
      struck.merge(fault.kind(), 1, Integer::sum);
    }
    if (marked && fault.kind() == Kind.KILL) {
      executors.awaitRemoved(removed + 1);
      executors.awaitAll();
    }
    return (marked ? "struck, " : "armed, ") + how;
  }

  /** Memory and files fail in the one executor, nothing else in any. */
  private void arm(Fault fault, String executorId) {
    executors.onEach(
        () -> {
          ArmedFaults.disarm();
          if (SparkEnv.get().executorId().equals(executorId)) {
            if (fault.kind() == Kind.REFUSE_MEMORY) {
              ArmedFaults.refuseMemory(fault.n());
            } else if (fault.kind() == Kind.FAIL_WRITE) {
              ArmedFaults.failWrite(fault.n());
            }
          }
        });
  }

  /** The first task that comes to the row kills the executor, or drops its own connections. */
  private static Interference.AtRow strike(Fault fault, Path mark, long pid) {
    String path = mark.toString();
    return row -> {
      boolean strikes = fault.kind() == Kind.KILL || fault.kind() == Kind.DROP_CONNECTIONS;
      if (strikes && row == fault.n() && Interference.leave(Path.of(path))) {
        if (fault.kind() == Kind.KILL) {
          Executors.kill(pid);
        } else {
          ArmedFaults.dropConnections();
        }
      }
    };
  }

  /** Causes a fault from the driver, while tasks fetch. */
  private void atFetch(Fault fault, Path mark, Map.Entry<String, Long> victim) {
    try {
      TimeUnit.MILLISECONDS.sleep(10L * fault.n());
      if (fault.kind() == Kind.KILL && Interference.leave(mark)) {
        Executors.kill(victim.getValue());
      } else if (fault.kind() == Kind.DROP_CONNECTIONS && Interference.leave(mark)) {
        new JavaSparkContext(spark.sparkContext())
            .parallelize(List.of(1, 2), 2)
            .foreach(task -> ArmedFaults.dropConnections());
      }
    } catch (Exception e) {
      e.printStackTrace(); // the schedule goes on
    }
  }

  // ---- queries

  private Map<String, List<?>> answer(
      Query query, Interference.AtRow atInput, Interference.AtRow atResult) {
    Dataset<Row> result =
        switch (query) {
          case REBLOCK -> reblocked(atInput);
          case MULTIPLY -> product(atInput);
          case FFT -> spectrum(atInput);
        };
    return bits(Interference.through(spark, result, atResult));
  }

  /** The values of each block by its place and extents. */
  private static Map<String, List<?>> bits(Dataset<Row> blocks) {
    Map<String, List<?>> bits = new TreeMap<>();
    for (Row row : blocks.collectAsList()) {
      StringBuilder place = new StringBuilder();
      List<List<?>> values = new ArrayList<>();
      for (int i = 0; i < row.size(); i++) {
        if (row.get(i) instanceof Number number) {
          place.append(number).append(' ');
        } else {
          values.add(row.getList(i));
        }
      }
      assertNull(bits.put(place.toString(), values), "a block twice");
    }
    assertFalse(bits.isEmpty());
    return bits;
  }

  private Dataset<Row> reblocked(Interference.AtRow atInput) {
    TestArray array = TestArray.matrix(ElementType.FLOAT32, 240, 180, 40, 30);
    return MatrixBlocks.reblock(
        Interference.through(spark, array.toDataFrame(spark, 6).drop("tag"), atInput), 50, 70);
  }

  private Dataset<Row> product(Interference.AtRow atInput) {
    return MatrixBlocks.multiply(
        Interference.through(
            spark, TestProduct.random(ElementType.FLOAT64, 60, 50, 1).frame(spark, 10, 7), atInput),
        TestProduct.random(ElementType.FLOAT64, 50, 40, 2).frame(spark, 8, 9),
        MultiplyOptions.of(Map.of("strategy", "cuboid(2,2,2)", "blockShape", "11,13")));
  }

  private static TestField field() {
    return TestField.random(1, true, 18, 8, 9);
  }

  private Dataset<Row> spectrum(Interference.AtRow atInput) {
    return VolumeBlocks.fft(
        Interference.through(
            spark, field().blocks(spark, ElementType.FLOAT64, true, 4, 3, 5), atInput),
        FftOptions.defaults().withOutput("natural"));
  }
}
