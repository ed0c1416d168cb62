package org.tilespark.spark.cluster;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.tilespark.spark.conf.TileSparkConf;

/**
 * Executors that are killed in the middle of a task, executors and shuffle files that are lost
 * between two stages. After each, all executors are there again.
 */
final class Killing {
  /** Task attempts that end so could not fetch what a stage before had left. */
  private static final String FETCH_FAILED = "FetchFailed";

  private final SparkSession spark;
  private final Executors executors;
  private final Path shared;
  private final Path local;

  /**
   * For one application.
   *
   * @param shared a directory that all processes share
   * @param local the directory below which executors have their local files
   */
  Killing(SparkSession spark, Executors executors, Path shared, Path local) {
    this.spark = spark;
    this.executors = executors;
    this.shared = shared;
    this.local = local;
  }

  /** The work that runs while an executor dies. */
  @FunctionalInterface
  interface Dying {
    /** Lets rows pass through {@code killer} somewhere; throws if the answer is not right. */
    void run(Interference.AtRow killer) throws Exception;
  }

  /**
   * Runs it with one task whose executor is killed when it comes to a row.
   *
   * @param name name of a file that no other call makes
   */
  void atRow(String name, int row, Dying body) throws Exception {
    int removed = executors.removed();
    Path mark = shared.resolve("killed-in-" + name);
    body.run(Interference.killOnce(mark, row));
    assertTrue(Files.exists(mark), "no task came to row " + row);
    executors.awaitRemoved(removed + 1);
    executors.awaitAll();
  }

  /**
   * Runs it with an executor killed somewhere.
   *
   * @param name name of a file that no other call makes
   * @param body gets the file that a process makes before it dies
   */
  void anExecutor(String name, Marked body) throws Exception {
    int removed = executors.removed();
    Path mark = shared.resolve("killed-in-" + name);
    body.run(mark);
    assertTrue(Files.exists(mark), "no process came to " + name);
    executors.awaitRemoved(removed + 1);
    executors.awaitAll();
  }

  /** The work that runs while an executor dies. */
  @FunctionalInterface
  interface Marked {
    void run(Path mark) throws Exception;
  }

  /** Runs the last stage of {@code df} when an executor is gone that those before have used. */
  void executorBetweenStages(Dataset<Row> df, Consumer<Dataset<Row>> check) throws Exception {
    int removed = executors.removed();
    long before = executors.failures(FETCH_FAILED);
    JavaRDD<Row> lastStage = lastStage(df);
    Executors.kill(executors.pids().values().iterator().next());
    check.accept(spark.createDataFrame(lastStage, df.schema()));
    executors.awaitRemoved(removed + 1);
    executors.awaitAll();
    // Spark may hear of the executor's end before a task asks it for its files, and then runs the
    // stage again at once.
    System.out.println("fetches that failed: " + (executors.failures(FETCH_FAILED) - before));
  }

  /**
   * Kills the executor that others fetch from, when a task has read its first row and has not yet
   * asked for most others.
   *
   * @param exchanged rows as they come out of a shuffle
   */
  void whileReducersFetch(Dataset<Row> exchanged, Consumer<Dataset<Row>> check) throws Exception {
    int removed = executors.removed();
    long failed = executors.failures(FETCH_FAILED);
    long[] pids = executors.pids().values().stream().mapToLong(Long::longValue).toArray();
    String mark = shared.resolve("killed-while-others-fetch").toString();
    Interference.AtRow killOther =
        row -> {
          if (row == 0 && Interference.leave(Path.of(mark))) {
            for (long pid : pids) {
              if (pid != ProcessHandle.current().pid()) {
                Executors.kill(pid);
              }
            }
          }
        };
    check.accept(Interference.through(spark, exchanged, killOther));
    executors.awaitRemoved(removed + 1);
    executors.awaitAll();
    assertTrue(executors.failures(FETCH_FAILED) > failed, "no fetch failed");
  }

  /**
   * Runs the last stage of {@code df} when the files are gone that those before have left, in
   * Spark's own shuffle.
   */
  void shuffleFilesBetweenStages(Dataset<Row> df, Consumer<Dataset<Row>> check) throws Exception {
    long before = executors.failures(FETCH_FAILED);
    spark.conf().set(TileSparkConf.EXCHANGE_MODE.name(), "spark");
    try {
      JavaRDD<Row> lastStage = lastStage(df);
      int deleted = 0;
      for (Path file : shuffleFiles()) {
        deleted += Files.deleteIfExists(file) ? 1 : 0;
      }
      assertTrue(deleted > 0, "no shuffle files under " + local);
      check.accept(spark.createDataFrame(lastStage, df.schema()));
    } finally {
      spark.conf().unset(TileSparkConf.EXCHANGE_MODE.name());
    }
    assertTrue(executors.failures(FETCH_FAILED) > before, "no fetch failed");
  }

  private List<Path> shuffleFiles() throws IOException {
    return filesBelow(local, name -> name.startsWith("shuffle_"));
  }

  /**
   * Files in a directory and below it; other processes may remove some of them meanwhile.
   *
   * @param isWanted condition on a file's name
   */
  static List<Path> filesBelow(Path directory, Predicate<String> isWanted) throws IOException {
    List<Path> files = new ArrayList<>();
    Files.walkFileTree(
        directory,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
            if (isWanted.test(file.getFileName().toString())) {
              files.add(file);
            }
            return FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult visitFileFailed(Path file, IOException gone) {
            return FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult postVisitDirectory(Path below, IOException gone) {
            return FileVisitResult.CONTINUE;
          }
        });
    return files;
  }

  /** The last stage of {@code df}, not yet run; those before it have been run. */
  static JavaRDD<Row> lastStage(Dataset<Row> df) {
    JavaRDD<Row> rdd = df.toJavaRDD();
    assertTrue(rdd.getNumPartitions() > 0); // adaptive execution has run all shuffles by now
    return rdd;
  }
}
