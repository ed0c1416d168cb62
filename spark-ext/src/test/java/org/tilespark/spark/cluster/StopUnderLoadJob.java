package org.tilespark.spark.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.apache.spark.SparkEnv;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerTaskStart;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.storage.StorageLevel;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.TileSparkExtensions;
import org.tilespark.spark.TileSparkPlugin;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.options.FftOptions;
import org.tilespark.spark.rows.RetainableRows;
import org.tilespark.spark.runtime.ExecutorReports;
import org.tilespark.spark.runtime.ExecutorRuntime;

/**
 * Starts applications, one after the other, and stops each while it works, at a time that a seed
 * says. Afterwards nothing may be left of it in this process, and no executor. Ends with {@link
 * #HANG} if something takes longer than {@link #LIMIT_MILLIS}, and prints all stacks.
 *
 * <p>Arguments: the first seed, the count of stops.
 */
final class StopUnderLoadJob {
  /** Exit status after a hang. */
  static final int HANG = 3;

  /** For each step of a stop. */
  private static final long LIMIT_MILLIS = 30_000;

  /** For a query whose tasks have ended. */
  private static final long QUERY_MILLIS = 5_000;

  private static final StorageLevel DESERIALIZED = StorageLevel.MEMORY_AND_DISK();

  private StopUnderLoadJob() {}

  /** The work of an application when it is stopped, again and again. */
  enum Load {
    CACHE_FILL {
      @Override
      void run(SparkSession spark) {
        Dataset<Row> cached = matrix(spark, 64).persist(DESERIALIZED);
        cached.count();
        cached.unpersist(false);
      }
    },
    /** Arrays on the heap drive blocks of ours to the disk. */
    CACHE_EVICTION {
      @Override
      String storeSize(Random random) {
        return pick(random, "128m", "512m"); // as much outside the heap as can be
      }

      @Override
      void run(SparkSession spark) {
        Dataset<Row> ours = matrix(spark, 96, 4).persist(DESERIALIZED);
        ours.count();
        Dataset<Row> others =
            spark
                .range(0, 240, 1, 24)
                .selectExpr("array_repeat(cast(id as double), 65536) as v")
                .persist(DESERIALIZED);
        others.count();
        others.unpersist(true);
        ours.unpersist(true);
      }
    },
    CACHE_READ {
      @Override
      void prepare(SparkSession spark) {
        matrix(spark, 64).persist(DESERIALIZED).count();
      }

      @Override
      void run(SparkSession spark) {
        noop(MatrixBlocks.transpose(matrix(spark, 64)));
        matrix(spark, 64).selectExpr("sum(aggregate(values, 0D, (a, v) -> a + v))").collectAsList();
      }
    },
    EXCHANGE {
      @Override
      void run(SparkSession spark) {
        noop(MatrixBlocks.reblock(matrix(spark, 64), 96, 80));
      }
    },
    EXCHANGE_OF_CACHED {
      @Override
      void run(SparkSession spark) {
        Dataset<Row> result =
            MatrixBlocks.reblock(matrix(spark, 48), 128, 512).persist(DESERIALIZED);
        noop(result);
        result.unpersist(false);
      }
    },
    TRANSFORM {
      @Override
      void run(SparkSession spark) {
        spark.conf().set(TileSparkConf.FOURIER_TASK_SIZE.name(), "4m");
        noop(VolumeBlocks.fft(volume(spark), FftOptions.defaults()));
      }
    },
    PRODUCT {
      @Override
      void run(SparkSession spark) {
        noop(MatrixBlocks.multiply(matrix(spark, 16), matrix(spark, 16)));
      }
    };

    void prepare(SparkSession spark) {}

    String storeSize(Random random) {
      return pick(random, "4m", "24m", "256m");
    }

    abstract void run(SparkSession spark);

    private static void noop(Dataset<Row> df) {
      df.write().format("noop").mode("overwrite").save();
    }

    private static Dataset<Row> matrix(SparkSession spark, int blocks) {
      return matrix(spark, blocks, blocks);
    }

    /** Blocks of half a MiB, four of them in a column of blocks. */
    private static Dataset<Row> matrix(SparkSession spark, int blocks, int partitions) {
      return spark
          .range(0, blocks, 1, partitions)
          .selectExpr(
              "id % 4 * 256 as row",
              "id div 4 * 256 as col",
              "256 as rows",
              "256 as cols",
              "array_repeat(cast(id as double), 65536) as values");
    }

    /** 128 x 128 x 64 values in 16 blocks. */
    private static Dataset<Row> volume(SparkSession spark) {
      return spark
          .range(0, 16, 1, 16)
          .selectExpr(
              "id % 4 * 32 as x",
              "id div 4 * 32 as y",
              "0L as z",
              "32 as nx",
              "32 as ny",
              "64 as nz",
              "array_repeat(cast(id as float), 65536) as values");
    }
  }

  public static void main(String[] args) throws Exception {
    long seed = Long.parseLong(args[0]);
    int stops = Integer.parseInt(args[1]);
    for (int i = 0; i < stops; i++) {
      stop(seed + i, i + 1 + " of " + stops);
    }
    System.out.printf("resident at the end: %s MiB%n", residentBytes() >> 20);
  }

  private static void stop(long seed, String which) throws Exception {
    Random random = new Random(seed);
    Load load = Load.values()[Math.floorMod(seed, Load.values().length)];
    SparkSession spark = session(load, random);
    String application = spark.sparkContext().applicationId();
    ExecutorRuntime runtime = ExecutorRuntime.current();
    CountDownLatch tasks = new CountDownLatch(1);
    load.prepare(spark);
    Thread work = new Thread(() -> forever(load, spark), "load");
    spark
        .sparkContext()
        .addSparkListener(
            new SparkListener() {
              @Override
              public void onTaskStart(SparkListenerTaskStart start) {
                tasks.countDown();
              }
            });
    work.start();
    tasks.await(LIMIT_MILLIS, TimeUnit.MILLISECONDS);
    int delayMillis = (int) (1500 * Math.pow(random.nextDouble(), 2)); // most of them early
    TimeUnit.MILLISECONDS.sleep(delayMillis);
    long start = System.nanoTime();
    if (random.nextBoolean()) {
      within("stop", which(seed, load), spark::stop);
    } else {
      within("stop", which(seed, load), spark.sparkContext()::stop);
      SparkSession.clearActiveSession();
      SparkSession.clearDefaultSession();
    }
    long stopMillis = (System.nanoTime() - start) / 1_000_000;
    within(
        "end of tasks",
        which(seed, load),
        () -> await(0, () -> threads("Executor task launch worker")));
    within("end of the query", which(seed, load), () -> endOfQuery(work));
    within("end of executors", which(seed, load), () -> await(0, () -> executors(application)));
    assertNothingIsLeft(runtime);
    System.out.printf(
        "stop %s: seed %s, %s after %s ms, took %s ms, tasks until %s ms%n",
        which, seed, load, delayMillis, stopMillis, (System.nanoTime() - start) / 1_000_000);
  }

  /**
   * Waits for the query's thread. Spark may never answer a job that is submitted while its
   * scheduler stops; a thread that waits for that, in Spark's code, is interrupted.
   */
  private static void endOfQuery(Thread work) throws InterruptedException {
    work.join(QUERY_MILLIS);
    if (work.isAlive()) {
      for (StackTraceElement frame : work.getStackTrace()) {
        String name = frame.getClassName();
        if (name.startsWith("org.tilespark.") && !name.startsWith(Load.class.getName())) {
          break; // it is ours to end
        } else if (name.startsWith("org.apache.spark.")) {
          System.out.println("Spark keeps the query of a stopped application waiting");
          work.interrupt();
          break;
        }
      }
    }
    work.join();
  }

  private static String which(long seed, Load load) {
    return " of seed " + seed + ", " + load;
  }

  private static SparkSession session(Load load, Random random) {
    SparkSession.Builder builder =
        SparkSession.builder()
            .config("spark.ui.enabled", "false")
            .config("spark.log.level", "OFF") // tasks fail
            .config("spark.plugins", TileSparkPlugin.class.getName())
            .config("spark.sql.extensions", TileSparkExtensions.class.getName())
            .config("spark.sql.shuffle.partitions", 1 + random.nextInt(12))
            .config(TileSparkConf.BACKEND.name(), "cpu")
            .config(TileSparkConf.STORE_SIZE.name(), load.storeSize(random))
            .config(TileSparkConf.HOST_POOL_SIZE.name(), pick(random, "0", "16m"));
    if (System.getProperty("spark.master") == null) {
      builder
          .master("local[3]")
          .config("spark.driver.host", "127.0.0.1")
          .config("spark.driver.bindAddress", "127.0.0.1");
    }
    return builder.getOrCreate();
  }

  private static String pick(Random random, String... values) {
    return values[random.nextInt(values.length)];
  }

  private static void forever(Load load, SparkSession spark) {
    try {
      while (true) {
        load.run(spark);
      }
    } catch (Throwable e) {
      if (!spark.sparkContext().isStopped()) { // it ends for another reason than the stop
        e.printStackTrace();
        Runtime.getRuntime().halt(1);
      }
    }
  }

  // ---- what may not be left

  private static void assertNothingIsLeft(ExecutorRuntime runtime) throws Exception {
    assertNull(SparkEnv.get());
    assertNull(field(ExecutorRuntime.class, "current").get(null), "a runtime after the stop");
    assertEquals(Map.of(), field(RetainableRows.class, "OWNERS").get(null));
    assertEquals(java.util.Optional.empty(), ExecutorReports.current());
    await(0, () -> threads("tilespark"));
    assertEquals(0, runtime.liveArrowBytes(), "bytes of buffers");
    assertEquals(0, runtime.storeBudget().usedBytes(), "bytes of stores");
    assertEquals(0, runtime.keptHostBytes(), "bytes of pools");
    Object uses = field(ExecutorRuntime.class, "uses").get(runtime);
    assertEquals(0, ((Number) field(uses.getClass(), "users").get(uses)).intValue(), "users");
  }

  private static Field field(Class<?> type, String name) throws ReflectiveOperationException {
    Field field = type.getDeclaredField(name);
    field.setAccessible(true);
    return field;
  }

  private static long threads(String prefix) {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.isAlive() && thread.getName().startsWith(prefix))
        .count();
  }

  /** Executors of an application that live. */
  private static long executors(String application) {
    return ProcessHandle.allProcesses().filter(each -> isOf(each, application)).count();
  }

  private static boolean isOf(ProcessHandle process, String application) {
    try {
      byte[] words = Files.readAllBytes(Path.of("/proc", Long.toString(process.pid()), "cmdline"));
      String command = new String(words, StandardCharsets.UTF_8);
      return command.contains("CoarseGrainedExecutorBackend") && command.contains(application);
    } catch (IOException e) {
      return false; // it has ended
    }
  }

  private static long residentBytes() throws IOException {
    String[] pages = Files.readString(Path.of("/proc/self/statm")).split(" ");
    return Long.parseLong(pages[1]) * 4096;
  }

  // ---- time

  private interface Step {
    void run() throws Exception;
  }

  /** Runs a step; if it takes too long, prints all stacks and ends the process. */
  private static void within(String what, String which, Step step) throws Exception {
    CountDownLatch done = new CountDownLatch(1);
    Thread watch =
        new Thread(
            () -> {
              try {
                if (!done.await(LIMIT_MILLIS, TimeUnit.MILLISECONDS)) {
                  ThreadMXBean threads = ManagementFactory.getThreadMXBean();
                  System.out.println("HANG in the " + what + which);
                  System.out.println(
                      "deadlocked: " + Arrays.toString(threads.findDeadlockedThreads()));
                  for (var each : threads.dumpAllThreads(true, true)) {
                    System.out.println(each);
                  }
                  Runtime.getRuntime().halt(HANG);
                }
              } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
              }
            },
            "watch");
    watch.setDaemon(true);
    watch.start();
    step.run();
    done.countDown();
    watch.join();
  }

  /** Waits for a figure, for at most the limit and a little. */
  private static void await(long wanted, LongSupplier figure) throws InterruptedException {
    long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(LIMIT_MILLIS + 10_000);
    while (figure.getAsLong() != wanted && System.nanoTime() < deadline) {
      TimeUnit.MILLISECONDS.sleep(5);
    }
    assertEquals(wanted, figure.getAsLong());
  }
}
