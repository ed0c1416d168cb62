package org.tilespark.spark.testing;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.SparkListenerStageCompleted;
import org.apache.spark.scheduler.SparkListenerTaskEnd;

/**
 * Spark's work for a query.
 *
 * @param shuffledBytes that tasks wrote for others
 */
public record Work(int jobs, int stages, int tasks, long shuffledBytes) {
  /** Counts what it hears. */
  static final class Counter extends SparkListener {
    private final AtomicInteger jobs = new AtomicInteger();
    private final AtomicInteger stages = new AtomicInteger();
    private final AtomicInteger tasks = new AtomicInteger();
    private final AtomicLong shuffledBytes = new AtomicLong();

    @Override
    public void onJobStart(SparkListenerJobStart start) {
      jobs.incrementAndGet();
    }

    @Override
    public void onStageCompleted(SparkListenerStageCompleted stage) {
      stages.incrementAndGet();
    }

    @Override
    public void onTaskEnd(SparkListenerTaskEnd end) {
      tasks.incrementAndGet();
      if (end.taskMetrics() != null) {
        shuffledBytes.addAndGet(end.taskMetrics().shuffleWriteMetrics().bytesWritten());
      }
    }

    Work counted() {
      return new Work(jobs.get(), stages.get(), tasks.get(), shuffledBytes.get());
    }
  }
}
