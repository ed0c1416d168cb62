package org.tilespark.bench.spark;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerStageCompleted;
import org.apache.spark.scheduler.StageInfo;
import org.apache.spark.sql.SparkSession;

/** Times of a query's stages, from Spark's task metrics. */
final class StageTimes {
  /**
   * One stage. Times are in seconds; all but {@code wall} are sums over the stage's tasks.
   *
   * @param wall elapsed time from submission to completion
   * @param run run time of the tasks
   * @param cpu CPU time; the rest of {@code run} is waiting: for cores, files, the network or a
   *     device
   * @param write time for writing shuffle files
   * @param fetch time waiting for shuffled data
   * @param gc time of garbage collection
   */
  record Stage(
      int id,
      int tasks,
      double wall,
      double run,
      double cpu,
      double write,
      double fetch,
      double gc,
      double writtenGib,
      double readGib) {
    static Stage of(StageInfo info) {
      TaskMetrics metrics = info.taskMetrics();
      long submitted = (Long) info.submissionTime().get();
      long completed = (Long) info.completionTime().get();
      return new Stage(
          info.stageId(),
          info.numTasks(),
          (completed - submitted) / 1e3,
          metrics.executorRunTime() / 1e3,
          metrics.executorCpuTime() / 1e9,
          metrics.shuffleWriteMetrics().writeTime() / 1e9,
          metrics.shuffleReadMetrics().fetchWaitTime() / 1e3,
          metrics.jvmGCTime() / 1e3,
          metrics.shuffleWriteMetrics().bytesWritten() / (double) (1L << 30),
          metrics.shuffleReadMetrics().totalBytesRead() / (double) (1L << 30));
    }

    @Override
    public String toString() {
      return String.format(
          Locale.ROOT,
          "stage %d: %.2f s, %d tasks of %.2f s in all; on a core %.2f, writing %.3f GiB %.2f,"
              + " waiting for %.3f GiB %.2f, garbage collection %.2f",
          id,
          wall,
          tasks,
          run,
          cpu,
          writtenGib,
          write,
          readGib,
          fetch,
          gc);
    }
  }

  private StageTimes() {}

  /** Runs a query and returns its stages in the order of completion. */
  static List<Stage> of(SparkSession spark, Runnable query) throws InterruptedException {
    List<Stage> stages = Collections.synchronizedList(new ArrayList<>());
    SparkListener listener =
        new SparkListener() {
          @Override
          public void onStageCompleted(SparkListenerStageCompleted completed) {
            StageInfo info = completed.stageInfo();
            if (info.submissionTime().isDefined()
                && info.completionTime().isDefined()
                && info.taskMetrics() != null) {
              stages.add(Stage.of(info));
            }
          }
        };
    spark.sparkContext().addSparkListener(listener);
    try {
      query.run();
      ListenerEvents.await(spark);
    } finally {
      spark.sparkContext().removeSparkListener(listener);
    }
    return List.copyOf(stages);
  }
}
