package org.tilespark.spark.runtime;

import java.io.Serializable;
import java.util.Collections;
import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.atomic.LongAccumulator;
import java.util.function.ToLongFunction;
import org.tilespark.arrow.pipeline.Measure;
import org.tilespark.arrow.pipeline.PipelineListener;

/**
 * Totals of all tasks of an executor on one device, or on the CPU, since the executor started;
 * {@link ExecutorRuntime#pipelineTotals} gives the object for a task. Safe for several threads.
 */
public final class PipelineTotals implements PipelineListener {
  private final Map<Measure, LongAccumulator> values = new EnumMap<>(Measure.class);

  /** Totals of no work yet. */
  public PipelineTotals() {
    for (Measure measure : Measure.values()) {
      values.put(measure, new LongAccumulator(measure.overTime(), 0));
    }
  }

  /**
   * The totals at one time.
   *
   * @param figures value of each measure, in the order of the enum
   */
  public record Snapshot(Map<Measure, Long> figures) implements Serializable {
    /** Totals of no work. */
    public static final Snapshot ZERO = of(measure -> 0);

    /** Totals with each measure's value. */
    public static Snapshot of(ToLongFunction<Measure> value) {
      Map<Measure, Long> figures = new EnumMap<>(Measure.class);
      for (Measure measure : Measure.values()) {
        figures.put(measure, value.applyAsLong(measure));
      }
      return new Snapshot(Collections.unmodifiableMap(figures));
    }

    /** The value of a measure. */
    public long get(Measure measure) {
      return figures.get(measure);
    }

    /**
     * The sum of these totals and those of another device; the peak of pinned memory is the larger
     * one.
     */
    public Snapshot plus(Snapshot other) {
      return of(m -> m.overDevices().applyAsLong(get(m), other.get(m)));
    }
  }

  /** The totals now. */
  public Snapshot snapshot() {
    return Snapshot.of(measure -> values.get(measure).get());
  }

  /** Counts a batch of {@code blockCount} blocks that went to the next operator. */
  public void handedOut(int blockCount) {
    heard(Measure.BATCHES, 1);
    heard(Measure.BLOCKS, blockCount);
  }

  @Override
  public void heard(Measure measure, long value) {
    values.get(measure).accumulate(value);
  }
}
