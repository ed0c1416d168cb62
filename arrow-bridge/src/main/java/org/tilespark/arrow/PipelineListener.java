package org.tilespark.arrow;

/** Hears what a pipeline did; for metrics. Called by the thread that uses the pipeline. */
public interface PipelineListener {
  /** A listener that does nothing. */
  PipelineListener NONE = new PipelineListener() {};

  /** Bytes sent to the device and bytes fetched from it, by one batch. */
  default void moved(long bytesUp, long bytesDown) {}

  /** Nanoseconds of one batch: upload, kernels and download on the device, or the host's work. */
  default void worked(long nanos) {}

  /** Nanoseconds the task waited for the device: for its turn, or for a batch to be done. */
  default void waited(long nanos) {}

  /** Device memory did not suffice, and was asked for again. */
  default void retried() {}

  /** Device memory did not suffice, and the batch goes in smaller pieces. */
  default void split() {}
}
