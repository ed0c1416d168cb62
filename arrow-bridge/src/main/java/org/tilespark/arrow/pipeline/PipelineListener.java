package org.tilespark.arrow.pipeline;

/**
 * Hears what a pipeline did; for metrics. Called by the thread that uses the pipeline. Times are in
 * nanoseconds.
 *
 * <p>Device times are those of the device's own clock, between the marks around a piece of work in
 * its stream: they hold no time of the host, but a copy also waits in them for the other stream's
 * copy in the same direction. Batches overlap, so their sum may exceed the time that passed.
 */
public interface PipelineListener {
  /** A listener that does nothing. */
  PipelineListener NONE = new PipelineListener() {};

  /** Bytes sent to the device and bytes fetched from it, by one batch. */
  default void moved(long bytesUp, long bytesDown) {}

  /** Bytes that need not be sent to the device, since another task had sent them. */
  default void reused(long bytes) {}

  /** Device time of one batch's copies to the device. */
  default void copiedUp(long nanos) {}

  /** Device time of one batch's kernels; without a device, the host's time for one block. */
  default void computed(long nanos) {}

  /** Device time of one batch's copies from the device. */
  default void copiedDown(long nanos) {}

  /** The task waited until it might use the device. */
  default void waitedForTurn(long nanos) {}

  /** The task waited for device memory, that of its own earlier batches included. */
  default void waitedForMemory(long nanos) {}

  /** The task had nothing to do until the device was done with a batch, or a piece of one. */
  default void waitedForResults(long nanos) {}

  /**
   * What all tasks of the process hold together, now that a batch has what it needs: memory of this
   * pipeline's device, and pinned host memory.
   */
  default void held(long deviceBytes, long pinnedBytes) {}

  /** Device memory did not suffice, and was asked for again. */
  default void retried() {}

  /** Device memory did not suffice, and the batch goes in smaller pieces. */
  default void split() {}

  /** One listener that tells both; {@code first} hears first. */
  static PipelineListener both(PipelineListener first, PipelineListener second) {
    return new PipelineListener() {
      @Override
      public void moved(long bytesUp, long bytesDown) {
        first.moved(bytesUp, bytesDown);
        second.moved(bytesUp, bytesDown);
      }

      @Override
      public void reused(long bytes) {
        first.reused(bytes);
        second.reused(bytes);
      }

      @Override
      public void copiedUp(long nanos) {
        first.copiedUp(nanos);
        second.copiedUp(nanos);
      }

      @Override
      public void computed(long nanos) {
        first.computed(nanos);
        second.computed(nanos);
      }

      @Override
      public void copiedDown(long nanos) {
        first.copiedDown(nanos);
        second.copiedDown(nanos);
      }

      @Override
      public void waitedForTurn(long nanos) {
        first.waitedForTurn(nanos);
        second.waitedForTurn(nanos);
      }

      @Override
      public void waitedForMemory(long nanos) {
        first.waitedForMemory(nanos);
        second.waitedForMemory(nanos);
      }

      @Override
      public void waitedForResults(long nanos) {
        first.waitedForResults(nanos);
        second.waitedForResults(nanos);
      }

      @Override
      public void held(long deviceBytes, long pinnedBytes) {
        first.held(deviceBytes, pinnedBytes);
        second.held(deviceBytes, pinnedBytes);
      }

      @Override
      public void retried() {
        first.retried();
        second.retried();
      }

      @Override
      public void split() {
        first.split();
        second.split();
      }
    };
  }
}
