package org.tilespark.spark.runtime;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;
import org.tilespark.arrow.pipeline.Measure;
import org.tilespark.arrow.pipeline.PipelineListener;

/** Totals of an executor over its tasks' pipelines. */
class PipelineTotalsTest {
  @Test
  void addsWhatEachPipelineTellsAndKeepsThePeaks() {
    PipelineTotals totals = new PipelineTotals();
    PipelineTotals first = new PipelineTotals();
    PipelineTotals second = new PipelineTotals();
    tell(PipelineListener.both(first, totals), 1);
    tell(PipelineListener.both(second, totals), 100);
    assertEquals(expected(1, 11, 12), first.snapshot());
    assertEquals(expected(100, 1100, 1200), second.snapshot());
    assertEquals(expected(101, 1100, 1200), totals.snapshot());
    assertEquals(expected(101, 1111, 1200), first.snapshot().plus(second.snapshot()));
    assertEquals(second.snapshot(), second.snapshot().plus(PipelineTotals.Snapshot.ZERO));
  }

  @Test
  void countsBlocksAndBatches() {
    PipelineTotals totals = new PipelineTotals();
    totals.handedOut(3);
    totals.handedOut(4);
    assertEquals(7, totals.snapshot().get(Measure.BLOCKS));
    assertEquals(2, totals.snapshot().get(Measure.BATCHES));
    assertEquals(14, totals.snapshot().plus(totals.snapshot()).get(Measure.BLOCKS));
    assertEquals(4, totals.snapshot().plus(totals.snapshot()).get(Measure.BATCHES));
  }

  /** Tells {@code scale} times a number of its own for each kind. */
  private static void tell(PipelineListener listener, long scale) {
    listener.moved(scale, 2 * scale);
    listener.staged(3 * scale);
    listener.copiedUp(4 * scale);
    listener.computed(5 * scale);
    listener.copiedDown(6 * scale);
    listener.waitedForTurn(7 * scale);
    listener.waitedForMemory(8 * scale);
    listener.waitedForResults(9 * scale);
    for (int i = 0; i < 10 * scale; i++) {
      listener.retried();
    }
    for (int i = 0; i < 11 * scale; i++) {
      listener.split();
    }
    listener.held(11 * scale, 12 * scale);
    listener.held(1, 2);
  }

  private static PipelineTotals.Snapshot expected(long scale, long peakDevice, long peakPinned) {
    return PipelineTotals.Snapshot.of(
        measure ->
            switch (measure) {
              case BLOCKS, BATCHES -> 0;
              case PEAK_DEVICE -> peakDevice;
              case PEAK_PINNED -> peakPinned;
              default -> (measure.ordinal() - 1) * scale; // as tell() numbers them
            });
  }
}
