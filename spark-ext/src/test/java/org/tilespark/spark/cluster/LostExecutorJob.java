package org.tilespark.spark.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkContext;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskFailedReason;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.tilespark.kernels.device.HandMadeFailure;
import org.tilespark.kernels.device.TrapKernel;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.TileSparkPlugin;
import org.tilespark.spark.conf.Backend;
import org.tilespark.spark.runtime.ExecutorRuntime;
import org.tilespark.spark.testing.TestArray;

/**
 * An application that loses the device of one executor on the way: the executor must end with its
 * own exit status, another must do its work, and the answer must be right. Fails, by its exit code,
 * if any of this is not so.
 */
public final class LostExecutorJob {
  private static final int PARTITIONS = 6;
  private static final String SIGN = "every later call in this process will fail on this device";
  private static final Permutation TRANSPOSE = Permutation.of(1, 0);

  /** How a device gets lost. */
  public enum Loss {
    /** A kernel traps. */
    TRAP {
      @Override
      void strike() {
        TrapKernel.launch(
            ExecutorRuntime.current().gpu(Backend.GPU, TaskContext.get()).orElseThrow().device());
      }
    },
    /** A task fails as if it were so. */
    BY_HAND {
      @Override
      void strike() {
        throw new IllegalStateException("a task failed", HandMadeFailure.sticky());
      }
    };

    abstract void strike();
  }

  private LostExecutorJob() {}

  public static void main(String[] args) throws Exception {
    Loss loss = Loss.valueOf(args[0]);
    try (SparkSession spark = SparkSession.builder().getOrCreate()) {
      SparkContext context = spark.sparkContext();
      Record record = new Record();
      context.addSparkListener(record);
      TestArray array = TestArray.matrix(ElementType.FLOAT32, 120, 90, 20, 15);
      Dataset<Row> blocks = array.toDataFrame(spark, PARTITIONS);
      array.assertPermuted(TRANSPOSE, MatrixBlocks.transpose(blocks));

      Dataset<Row> losing =
          spark.createDataFrame(
              blocks.toJavaRDD().mapPartitions(new OnFirstAttempt(loss)), blocks.schema());
      array.assertPermuted(TRANSPOSE, MatrixBlocks.transpose(losing));

      record.awaitLoss();
      String lost = record.lostExecutor();
      assertEquals(
          "Command exited with code " + TileSparkPlugin.LOST_DEVICE_STATUS,
          record.whyRemoved(lost));
      record.assertNothingSucceededAfterTheLoss(lost);
      JsonNode seen = onTheTab(context, lost);
      assertTrue(seen.get("endedBecause").asText().contains("87"), seen::toString);
      assertTrue(seen.get("status").get("lostDevice").asText().contains(SIGN), seen::toString);

      awaitExecutors(context, 2);
      array.assertPermuted(TRANSPOSE, MatrixBlocks.transpose(blocks));
      System.out.println("executor " + lost + " ended with status 87 and was replaced");
    }
  }

  /** Waits until {@code count} executors live. */
  private static void awaitExecutors(SparkContext context, int count) throws InterruptedException {
    int driver = 1; // the tracker counts it too
    int live = live(context);
    for (int i = 0; i < 3000 && live < count + driver; i++) {
      TimeUnit.MILLISECONDS.sleep(100);
      live = live(context);
    }
    assertEquals(count + driver, live);
  }

  private static int live(SparkContext context) {
    return context.statusTracker().getExecutorInfos().length;
  }

  /** The GPU tab's entry of an executor. */
  private static JsonNode onTheTab(SparkContext context, String executor) throws IOException {
    URI json = URI.create(context.uiWebUrl().get() + "/GPU/json");
    JsonNode all = new ObjectMapper().readTree(json.toURL());
    for (JsonNode one : all) {
      if (one.get("executorId").asText().equals(executor)) {
        return one;
      }
    }
    throw new AssertionError("executor " + executor + " is not among " + all);
  }

  /** Lets the first attempt at partition 0 lose its executor's device. */
  private record OnFirstAttempt(Loss loss) implements FlatMapFunction<Iterator<Row>, Row> {
    @Override
    public Iterator<Row> call(Iterator<Row> rows) {
      TaskContext task = TaskContext.get();
      if (task.partitionId() == 0 && task.attemptNumber() == 0 && task.stageAttemptNumber() == 0) {
        loss.strike();
      }
      return rows;
    }
  }

  /** A record of the events of tasks and executors. */
  private static final class Record extends SparkListener {
    private final List<SparkListenerTaskEnd> ends = new ArrayList<>();
    private final List<SparkListenerExecutorRemoved> removals = new ArrayList<>();

    @Override
    public synchronized void onTaskEnd(SparkListenerTaskEnd end) {
      ends.add(end);
    }

    @Override
    public synchronized void onExecutorRemoved(SparkListenerExecutorRemoved removed) {
      removals.add(removed);
      notifyAll();
    }

    synchronized void awaitLoss() throws InterruptedException {
      long deadline = System.nanoTime() + TimeUnit.MINUTES.toNanos(5);
      while (removals.isEmpty() && System.nanoTime() < deadline) {
        TimeUnit.MILLISECONDS.timedWait(this, 200);
      }
      assertEquals(1, removals.size(), "executors that ended");
    }

    /** The executor whose task failed with the CUDA error. */
    synchronized String lostExecutor() {
      return failure().taskInfo().executorId();
    }

    synchronized String whyRemoved(String executor) {
      SparkListenerExecutorRemoved removed = removals.get(0);
      assertEquals(executor, removed.executorId());
      return removed.reason();
    }

    /** A task that began there after the failure would only have found the device gone. */
    synchronized void assertNothingSucceededAfterTheLoss(String executor) {
      long lostAt = failure().taskInfo().finishTime();
      for (SparkListenerTaskEnd end : ends) {
        if (end.taskInfo().successful() && end.taskInfo().launchTime() >= lostAt) {
          assertNotEquals(executor, end.taskInfo().executorId(), () -> end.taskInfo().toString());
        }
      }
    }

    private SparkListenerTaskEnd failure() {
      return ends.stream()
          .filter(
              end ->
                  end.reason() instanceof TaskFailedReason failed
                      && failed.toErrorString().contains(SIGN))
          .findFirst()
          .orElseThrow(() -> new AssertionError("no task failed with " + SIGN));
    }
  }
}
