package org.tilespark.arrow.pipeline;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * One task's use of a device: its turn, which is the permission to use the device, and its
 * pipelines. If operators of one task feed each other, each has a pipeline with batches in
 * progress. A pipeline that finds no device memory first waits for the batches of all of the task's
 * pipelines and frees their memory; otherwise the task might wait for itself.
 */
public final class DeviceTask {
  private final Runnable turn;
  private final Queue<Pipeline> pipelines = new ConcurrentLinkedQueue<>();

  /** A pipeline that may have work under way. */
  public interface Pipeline {
    /**
     * Waits for this pipeline's batches in progress and frees their device memory; their results
     * can still be taken.
     */
    void settleUnderWay();

    /** The thread that uses this pipeline; null if none has used it yet. */
    Thread user();
  }

  /**
   * A task without pipelines.
   *
   * @param turn called before the first upload of every batch, and while the task waits for memory;
   *     returns when this task may use the device, and throws if it has been killed
   */
  public DeviceTask(Runnable turn) {
    this.turn = turn;
  }

  public void takeTurn() {
    turn.run();
  }

  public void joins(Pipeline pipeline) {
    pipelines.add(pipeline);
  }

  public void leaves(Pipeline pipeline) {
    pipelines.remove(pipeline);
  }

  /**
   * Waits for the batches of all pipelines and frees their device memory; their results can still
   * be taken. Pipelines of another thread are skipped, since they are not safe for several threads.
   */
  public void settle() {
    for (Pipeline pipeline : pipelines) {
      if (pipeline.user() == Thread.currentThread()) {
        pipeline.settleUnderWay();
      }
    }
  }
}
