package org.tilespark.spark.runtime;

import org.tilespark.arrow.pipeline.PipelineListener;

/** Hears a pipeline as values of {@link Measure}. */
abstract class MeasuringListener implements PipelineListener {
  /** A value to add, or a peak to compare with those before. */
  abstract void add(Measure measure, long value);

  @Override
  public final void moved(long up, long down) {
    add(Measure.BYTES_UP, up);
    add(Measure.BYTES_DOWN, down);
  }

  @Override
  public final void staged(long bytes) {
    add(Measure.STAGED, bytes);
  }

  @Override
  public final void copiedUp(long nanos) {
    add(Measure.COPY_UP, nanos);
  }

  @Override
  public final void computed(long nanos) {
    add(Measure.KERNEL, nanos);
  }

  @Override
  public final void copiedDown(long nanos) {
    add(Measure.COPY_DOWN, nanos);
  }

  @Override
  public final void waitedForTurn(long nanos) {
    add(Measure.TURN, nanos);
  }

  @Override
  public final void waitedForMemory(long nanos) {
    add(Measure.MEMORY, nanos);
  }

  @Override
  public final void waitedForResults(long nanos) {
    add(Measure.RESULT, nanos);
  }

  @Override
  public final void held(long deviceBytes, long pinnedBytes) {
    add(Measure.PEAK_DEVICE, deviceBytes);
    add(Measure.PEAK_PINNED, pinnedBytes);
  }

  @Override
  public final void retried() {
    add(Measure.RETRIES, 1);
  }

  @Override
  public final void split() {
    add(Measure.SPLITS, 1);
  }
}
