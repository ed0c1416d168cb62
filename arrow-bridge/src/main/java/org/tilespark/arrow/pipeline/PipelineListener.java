package org.tilespark.arrow.pipeline;

import java.lang.reflect.Proxy;

/**
 * Notified of the work of a pipeline, for metrics. Called by the thread that uses the pipeline.
 * Times are in nanoseconds.
 *
 * <p>Device times are those of the device's own clock, between two events around a piece of work in
 * its stream: they include no time of the host, but a copy's time includes waiting for another
 * stream's copy in the same direction. Batches overlap, so the sum of their times may exceed the
 * elapsed time.
 */
public interface PipelineListener {
  /** A listener that does nothing. */
  PipelineListener NONE = new PipelineListener() {};

  /**
   * A new value of a measure: it is added to earlier values, or for a peak their maximum is taken.
   * The other methods, except {@code reused}, call this one.
   */
  default void heard(Measure measure, long value) {}

  /** Bytes sent to the device and bytes fetched from it, by one batch. */
  default void moved(long bytesUp, long bytesDown) {
    heard(Measure.BYTES_UP, bytesUp);
    heard(Measure.BYTES_DOWN, bytesDown);
  }

  /**
   * Bytes that the CPU copied to or from pinned memory for the device: values that the device
   * cannot read or write in place, or that are too small for a separate copy.
   */
  default void staged(long bytes) {
    heard(Measure.STAGED, bytes);
  }

  /** Bytes that were not sent to the device, since another task had sent them. */
  default void reused(long bytes) {}

  /** Device time of one batch's copies to the device. */
  default void copiedUp(long nanos) {
    heard(Measure.COPY_UP, nanos);
  }

  /** Device time of one batch's kernels; without a device, the host's time for one block. */
  default void computed(long nanos) {
    heard(Measure.KERNEL, nanos);
  }

  /** Device time of one batch's copies from the device. */
  default void copiedDown(long nanos) {
    heard(Measure.COPY_DOWN, nanos);
  }

  /** The task waited until it might use the device. */
  default void waitedForTurn(long nanos) {
    heard(Measure.TURN, nanos);
  }

  /** The task waited for device memory, including memory that its own earlier batches held. */
  default void waitedForMemory(long nanos) {
    heard(Measure.MEMORY, nanos);
  }

  /** The task waited for the device to finish a batch, or a piece of one. */
  default void waitedForResults(long nanos) {
    heard(Measure.RESULT, nanos);
  }

  /**
   * Memory that all tasks of the process hold together after a batch got its memory: memory of this
   * pipeline's device, and pinned host memory.
   */
  default void held(long deviceBytes, long pinnedBytes) {
    heard(Measure.PEAK_DEVICE, deviceBytes);
    heard(Measure.PEAK_PINNED, pinnedBytes);
  }

  /** Device memory did not suffice, and the request was retried. */
  default void retried() {
    heard(Measure.RETRIES, 1);
  }

  /** Device memory did not suffice, and the batch is processed in smaller pieces. */
  default void split() {
    heard(Measure.SPLITS, 1);
  }

  /** One listener that tells two others, {@code first} before {@code second}. */
  static PipelineListener both(PipelineListener first, PipelineListener second) {
    return (PipelineListener)
        Proxy.newProxyInstance(
            PipelineListener.class.getClassLoader(),
            new Class<?>[] {PipelineListener.class},
            (both, report, figures) -> {
              report.invoke(first, figures);
              report.invoke(second, figures);
              return null;
            });
  }
}
