package org.tilespark.spark.cluster;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.apache.spark.ExecutorAllocationClient;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.scheduler.ExecutorDecommissionInfo;
import org.apache.spark.scheduler.StageInfo;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.TaskCompletionListener;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.testing.TestArray;
import scala.Option;

/**
 * An application whose executors end, one way or another, while they hold the outputs of map tasks
 * that others need. Arguments: what happens, a directory that all processes share, and the one
 * below which executors have their local files.
 */
public final class LostOutputsJob {
  private static final int MAPS = 8;
  private static final long SLOW_TASK_MILLIS = 10_000;

  private final SparkSession spark;
  private final Executors executors;
  private final Killing killing;
  private final Path shared;
  private final TestArray array = TestArray.matrix(ElementType.FLOAT32, 240, 180, 40, 30);

  private LostOutputsJob(SparkSession spark, Path shared, Path local) {
    this.spark = spark;
    this.executors = new Executors(spark.sparkContext(), 2);
    this.shared = shared;
    this.killing = new Killing(spark, executors, shared, local);
  }

  public static void main(String[] args) throws IOException {
    Cases cases = new Cases();
    try (SparkSession spark = SparkSession.builder().getOrCreate()) {
      LostOutputsJob job = new LostOutputsJob(spark, Path.of(args[1]), Path.of(args[2]));
      cases.run(
          args[0],
          () -> {
            job.executors.awaitAll();
            switch (args[0]) {
              case "in memory beside the service" -> job.inMemoryBesideTheService();
              case "in files of the service" -> job.inFilesOfTheService();
              case "decommissioned" -> job.decommissioned();
              case "idle executors" -> job.idleExecutors();
              case "late loser" -> job.lateLoser();
              case "recovery" -> job.recovery();
              case "memory refused while fetching" -> job.memoryRefusedWhileFetching();
              default -> throw new IllegalArgumentException(args[0]);
            }
          });
      cases.run("nothing alive", () -> job.executors.assertNothingHeld());
    }
    cases.end();
  }

  private Dataset<Row> blocks() {
    return array.toDataFrame(spark, MAPS).drop("tag");
  }

  private static void assertRight(Dataset<Row> reblocked) {
    TestArray.matrix(ElementType.FLOAT32, 240, 180, 50, 70)
        .assertPermuted(
            Permutation.of(0, 1), reblocked.selectExpr("*", "cast(null AS STRING) AS tag"));
  }

  private Dataset<Row> reblocked() {
    return MatrixBlocks.reblock(blocks(), 50, 70);
  }

  /** Memory goes with the executor, service or not: a fetch fails, and map tasks run again. */
  private void inMemoryBesideTheService() throws Exception {
    killing.executorBetweenStages(reblocked(), LostOutputsJob::assertRight);
    assertTrue(executors.firstFetchFailed().isPresent(), "no fetch failed");
  }

  /** Outputs in files are the service's. */
  private void inFilesOfTheService() throws Exception {
    killing.executorBetweenStages(reblocked(), this::assertNothingRunsAgain);
    assertTrue(executors.committed().values().stream().allMatch(count -> count == 0));
  }

  private void assertNothingRunsAgain(JavaRDD<Row> lastStage, StructType schema) {
    assertNothingRunsAgain(spark.createDataFrame(lastStage, schema));
  }

  private void assertNothingRunsAgain(Dataset<Row> lastStage) {
    executors.forgetTasks();
    assertRight(lastStage);
    assertTrue(executors.firstFetchFailed().isEmpty(), "a fetch failed");
    assertEquals(0, executors.mapTasks(), "map tasks that ran again");
  }

  /** Outputs of an executor go to others before it ends. */
  private void decommissioned() throws Exception {
    Dataset<Row> reblocked = reblocked();
    JavaRDD<Row> lastStage = Killing.lastStage(reblocked);
    assertTrue(executors.outputsInMemory() >= MAPS);
    String id = executors.pids().keySet().iterator().next();
    ((ExecutorAllocationClient) spark.sparkContext().schedulerBackend())
        .decommissionExecutor(
            id, new ExecutorDecommissionInfo("a test", Option.empty()), false, false);
    executors.awaitRemoved(1);
    assertNothingRunsAgain(lastStage, reblocked.schema());
    executors.awaitAll();
  }

  /** Without a service, an idle executor stays while it holds outputs, and then goes. */
  private void idleExecutors() throws Exception {
    Dataset<Row> reblocked = reblocked();
    JavaRDD<Row> lastStage = Killing.lastStage(reblocked);
    int removed = executors.removed();
    TimeUnit.SECONDS.sleep(20); // they may go when they were idle for ten
    assertEquals(removed, executors.removed(), "executors that ended while their outputs are due");
    assertNothingRunsAgain(lastStage, reblocked.schema());
    lastStage = null;
    reblocked = null;
    executors.awaitRemovedCollecting(removed + 1);
    assertRight(reblocked());
  }

  /**
   * A slow attempt has committed its output when another one wins. The output stays until its
   * shuffle is unregistered.
   */
  private void lateLoser() throws Exception {
    String committed = shared.resolve("both-have-committed").toString();
    Dataset<Row> slow =
        Interference.through(
            spark,
            array.toDataFrame(spark, MAPS),
            row -> {
              TaskContext task = TaskContext.get();
              if (row == 0 && task.partitionId() == 0 && task.attemptNumber() == 0) {
                task.addTaskCompletionListener(
                    (TaskCompletionListener) ended -> endLate(Path.of(committed)));
              } else if (row == 0 && task.partitionId() == 0) {
                task.addTaskCompletionListener(
                    (TaskCompletionListener) ended -> leave(Path.of(committed)));
              }
            });
    Dataset<Row> exchanged = MatrixBlocks.transpose(slow).repartition(3, col("row"));
    JavaRDD<Row> lastStage = Killing.lastStage(exchanged);
    int outputs = executors.outputsInMemory();
    // A busy machine makes others slow too.
    assertTrue(
        outputs > MAPS && outputs <= MAPS + executors.speculative(),
        () -> outputs + " outputs of " + MAPS + " map tasks");
    array.assertPermuted(
        Permutation.of(1, 0), spark.createDataFrame(lastStage, exchanged.schema()));
  }

  /** Its output is committed: this is the end of the attempt. */
  private static void endLate(Path otherCommitted) {
    try {
      Interference.await(otherCommitted);
      TimeUnit.SECONDS.sleep(2); // the driver hears of the other one first
    } catch (InterruptedException e) {
      // It is killed, too late.
    }
  }

  private static void leave(Path mark) {
    try {
      Interference.leave(mark);
    } catch (IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }

  /** The task is tried again; what it fetches is still there. */
  private void memoryRefusedWhileFetching() throws Exception {
    Dataset<Row> exchanged =
        MatrixBlocks.transpose(array.toDataFrame(spark, MAPS)).repartition(3, col("row"));
    JavaRDD<Row> lastStage = Killing.lastStage(exchanged);
    executors.onEach(() -> ArmedFaults.refuseMemory(2));
    executors.forgetTasks();
    array.assertPermuted(
        Permutation.of(1, 0), spark.createDataFrame(lastStage, exchanged.schema()));
    assertTrue(executors.failures("refused on purpose") > 0, "no memory was refused");
    assertTrue(executors.firstFetchFailed().isEmpty(), "a fetch failed");
    assertEquals(0, executors.mapTasks(), "map tasks that ran again");
  }

  /**
   * Map tasks of a known length, so that a busy machine says nothing: half of their outputs is
   * lost, and half of the executors runs those tasks again.
   */
  private void recovery() throws Exception {
    Dataset<Row> slow =
        Interference.through(
            spark,
            array.toDataFrame(spark, MAPS),
            row -> {
              if (row == 0) {
                TimeUnit.MILLISECONDS.sleep(SLOW_TASK_MILLIS);
              }
            });
    Dataset<Row> exchanged = MatrixBlocks.transpose(slow).repartition(3, col("row"));
    killing.whileReducersFetch(exchanged, df -> array.assertPermuted(Permutation.of(1, 0), df));
    long failed = executors.firstFetchFailed().orElseThrow();
    long lost = Executors.millis(executors.longestStage(end -> end <= failed));
    StageInfo again = executors.longestStage(end -> end > failed);
    long recovery = (Long) again.completionTime().get() - failed;
    System.out.println(
        "recovery: the lost stage took "
            + lost
            + " ms, it had run again "
            + recovery
            + " ms after the first fetch failed, "
            + (double) recovery / lost
            + " of it");
    assertTrue(recovery <= 1.2 * lost, recovery + " ms for a stage of " + lost + " ms");
  }
}
