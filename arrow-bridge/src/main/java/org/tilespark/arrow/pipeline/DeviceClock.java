package org.tilespark.arrow.pipeline;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import org.tilespark.kernels.device.CudaEvent;
import org.tilespark.kernels.device.CudaStream;

/**
 * Device time of one batch's work on one stream, by phase. A mark, an event of the stream, is
 * recorded at the beginning and after each piece of work.
 */
public final class DeviceClock implements AutoCloseable {
  /** Phases of a batch's work on the device. */
  public enum Phase {
    COPY_UP,
    KERNELS,
    COPY_DOWN
  }

  /** Device time of each phase, in nanoseconds. */
  public record Times(long copyUp, long kernels, long copyDown) {
    /** Reports the three times. */
    public void tell(PipelineListener listener) {
      listener.copiedUp(copyUp);
      listener.computed(kernels);
      listener.copiedDown(copyDown);
    }
  }

  private final CudaStream stream;
  private final List<CudaEvent> marks = new ArrayList<>();
  private final List<Phase> phases = new ArrayList<>(); // phase i ends with mark i + 1; null: none

  /** A clock that starts after the work queued on {@code stream}, which is borrowed. */
  public DeviceClock(CudaStream stream) {
    this.stream = stream;
    marks.add(stream.record());
  }

  /** Assigns the time since the last mark to no phase: the stream was idle, or ran other work. */
  public void resumed() {
    marks.add(stream.record());
    phases.add(null);
  }

  /**
   * Assigns the work since the last mark to this phase; returns the new mark that ends it, which
   * this clock closes.
   */
  public CudaEvent ended(Phase phase) {
    CudaEvent mark = stream.record();
    marks.add(mark);
    phases.add(phase);
    return mark;
  }

  /** Waits until the device is past the last mark. */
  public void synchronize() {
    marks.get(marks.size() - 1).synchronize();
  }

  /**
   * Waits until the device is past the last mark of every clock; returns the sums of the clocks'
   * times.
   */
  public static Times await(Collection<DeviceClock> clocks) {
    Times sum = new Times(0, 0, 0);
    for (DeviceClock clock : clocks) {
      clock.synchronize();
      Times times = clock.times();
      sum =
          new Times(
              sum.copyUp + times.copyUp,
              sum.kernels + times.kernels,
              sum.copyDown + times.copyDown);
    }
    return sum;
  }

  /** The times until the last mark, which the device must have passed. */
  public Times times() {
    double[] millis = new double[Phase.values().length];
    for (int i = 0; i < phases.size(); i++) {
      if (phases.get(i) != null) {
        millis[phases.get(i).ordinal()] += marks.get(i + 1).millisSince(marks.get(i));
      }
    }
    long[] nanos = Arrays.stream(millis).mapToLong(m -> Math.round(m * 1e6)).toArray();
    return new Times(
        nanos[Phase.COPY_UP.ordinal()],
        nanos[Phase.KERNELS.ordinal()],
        nanos[Phase.COPY_DOWN.ordinal()]);
  }

  @Override
  public void close() {
    Closing.emptied(marks);
  }
}
