package org.tilespark.spark.runtime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Iterator;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.StreamSupport;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaFutureAction;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.tilespark.spark.testing.SparkTest;

/** Turns of tasks of Spark; no device is there. */
class GpuTurnsTest extends SparkTest {
  /** Static since tasks reach it. */
  private static GpuTurns turns;

  private static CountDownLatch firstHasTurn;
  private static CountDownLatch secondComputes;

  @BeforeEach
  void start() {
    turns = new GpuTurns(1, task -> 0);
    firstHasTurn = new CountDownLatch(1);
    secondComputes = new CountDownLatch(1);
  }

  private static void await(CountDownLatch latch) {
    try {
      assertTrue(latch.await(60, TimeUnit.SECONDS));
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Computes a cached partition on the device. */
  private static int compute(int partition) {
    TaskContext task = TaskContext.get();
    if (partition == 1) {
      secondComputes.countDown();
    }
    turns.of(task).takeTurn();
    if (partition == 0) {
      firstHasTurn.countDown();
      await(secondComputes);
    }
    return partition;
  }

  /** An operator on the device that reads {@code input}. */
  private static Iterator<Integer> operator(Iterator<Integer> input) {
    TaskContext task = TaskContext.get();
    Iterator<Integer> awaited = turns.awaited(task, input);
    return StreamSupport.stream(((Iterable<Integer>) () -> awaited).spliterator(), false)
        .map(
            value -> {
              turns.of(task).takeTurn();
              return value;
            })
        .iterator();
  }

  /**
   * One task computes the first partition, holds the turn and wants the second; another computes
   * the second, holds Spark's lock on it and wants a turn.
   */
  @Test
  void whoWaitsForACachedPartitionKeepsNoTurn()
      throws InterruptedException, ExecutionException, TimeoutException {
    JavaSparkContext context = new JavaSparkContext(spark.sparkContext());
    JavaRDD<Integer> cached =
        context.parallelize(List.of(0, 1), 2).map(GpuTurnsTest::compute).cache();
    try {
      JavaFutureAction<List<Integer>> both =
          cached.coalesce(1).mapPartitions(GpuTurnsTest::operator).collectAsync();
      await(firstHasTurn);
      JavaFutureAction<List<Integer>> second =
          cached.mapPartitions(GpuTurnsTest::operator).collectAsync();
      assertEquals(List.of(0, 1), both.get(60, TimeUnit.SECONDS));
      assertEquals(List.of(0, 1), second.get(60, TimeUnit.SECONDS));
    } finally {
      spark.sparkContext().cancelAllJobs();
      cached.unpersist();
      awaitNoTasks();
    }
    assertEquals(0, turns.held());
  }

  @Test
  void aTaskHoldsOneTurnUntilItsEnd() {
    JavaSparkContext context = new JavaSparkContext(spark.sparkContext());
    int most =
        context
            .parallelize(List.of(1, 2, 3, 4, 5, 6, 7, 8), 8)
            .mapPartitions(GpuTurnsTest::operator)
            .mapPartitions(GpuTurnsTest::operator)
            .map(value -> turns.held())
            .reduce(Math::max);
    assertEquals(1, most);
    assertEquals(0, turns.held());
  }

  @Test
  void aTaskTakesATurnAgainThatItPassed() {
    JavaSparkContext context = new JavaSparkContext(spark.sparkContext());
    List<Integer> held =
        context
            .parallelize(List.of(1, 2, 3, 4), 4)
            .map(
                value -> {
                  TaskContext task = TaskContext.get();
                  for (int i = 0; i < 20; i++) {
                    turns.of(task).takeTurn();
                    turns.pass(task);
                  }
                  turns.pass(task); // which has none
                  turns.of(task).takeTurn();
                  return turns.held();
                })
            .collect();
    assertEquals(List.of(1, 1, 1, 1), held);
    assertEquals(0, turns.held());
  }
}
