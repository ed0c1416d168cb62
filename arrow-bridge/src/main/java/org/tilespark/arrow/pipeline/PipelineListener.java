package org.tilespark.arrow.pipeline;

import java.lang.reflect.Proxy;

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

  /** A value of a measure: one to add, or a peak. All other reports but reuse come to it. */
  default void heard(Measure measure, long value) {}

  /** Bytes sent to the device and bytes fetched from it, by one batch. */
  default void moved(long bytesUp, long bytesDown) {
    heard(Measure.BYTES_UP, bytesUp);
    heard(Measure.BYTES_DOWN, bytesDown);
  }

  /**
   * Bytes that the CPU copied to or from pinned memory for the device: values that the device
   * cannot read or write in place, or that are too small for a copy of their own.
   */
  default void staged(long bytes) {
    heard(Measure.STAGED, bytes);
  }

  /** Bytes that need not be sent to the device, since another task had sent them. */
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

  /** The task waited for device memory, that of its own earlier batches included. */
  default void waitedForMemory(long nanos) {
    heard(Measure.MEMORY, nanos);
  }

  /** The task had nothing to do until the device was done with a batch, or a piece of one. */
  default void waitedForResults(long nanos) {
    heard(Measure.RESULT, nanos);
  }

  /**
   * Memory that all tasks of the process hold together, now that a batch has what it needs: of this
   * pipeline's device, and pinned host memory.
   */
  default void held(long deviceBytes, long pinnedBytes) {
    heard(Measure.PEAK_DEVICE, deviceBytes);
    heard(Measure.PEAK_PINNED, pinnedBytes);
  }

  /** Device memory did not suffice, and was asked for again. */
  default void retried() {
    heard(Measure.RETRIES, 1);
  }

  /** Device memory did not suffice, and the batch goes in smaller pieces. */
  default void split() {
    heard(Measure.SPLITS, 1);
  }

  /** One listener that tells both; {@code first} hears first. */
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
