package org.tilespark.spark.runtime;

import java.util.concurrent.atomic.LongAdder;
import org.tilespark.arrow.store.StoreBudget;

/**
 * Totals of the bytes that the tasks of one executor moved through exchanges in memory, up to now.
 * Thread-safe.
 */
public final class ExchangeTotals {
  private final LongAdder inMemory = new LongAdder();
  private final LongAdder inPlace = new LongAdder();
  private final LongAdder inFiles = new LongAdder();
  private final LongAdder readLocally = new LongAdder();
  private final LongAdder readRemotely = new LongAdder();

  /** Counts an output that is kept in memory, of which {@code inPlaceBytes} were not copied. */
  public void keptInMemory(long bytes, long inPlaceBytes) {
    inMemory.add(bytes);
    inPlace.add(inPlaceBytes);
  }

  /**
   * Counts an output that was written to files: immediately, or when other outputs needed memory.
   */
  public void wroteFiles(long bytes) {
    inFiles.add(bytes);
  }

  /** Counts bytes that a task read from its own executor. */
  public void readLocally(long bytes) {
    readLocally.add(bytes);
  }

  /** Counts bytes that a task read from another executor. */
  public void readRemotely(long bytes) {
    readRemotely.add(bytes);
  }

  /** The totals now, with the memory in use by {@code budget}. */
  ExchangeStatus status(StoreBudget budget) {
    return new ExchangeStatus(
        budget.usedBytes(),
        budget.peakBytes(),
        budget.limitBytes(),
        inMemory.sum(),
        inPlace.sum(),
        inFiles.sum(),
        readLocally.sum(),
        readRemotely.sum());
  }
}
