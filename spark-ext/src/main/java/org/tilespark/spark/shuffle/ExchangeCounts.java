package org.tilespark.spark.shuffle;

import java.util.Optional;
import org.tilespark.spark.catalyst.ExchangeInput;
import org.tilespark.spark.catalyst.ExchangeMetrics;
import org.tilespark.spark.runtime.ExchangeTotals;
import org.tilespark.spark.runtime.ExecutorRuntime;

/**
 * Counters of a task's exchange: those of its node, for the SQL page, and those of its executor.
 * Created on the task's thread when it begins to read or to write.
 */
record ExchangeCounts(Optional<ExchangeMetrics> node, ExchangeTotals executor) {
  static ExchangeCounts ofReader() {
    return new ExchangeCounts(ExchangeInput.reading(), ExecutorRuntime.current().exchangeTotals());
  }

  static ExchangeCounts ofWriter() {
    return new ExchangeCounts(ExchangeInput.writing(), ExecutorRuntime.current().exchangeTotals());
  }

  /**
   * Counts bytes that were written; the store counts bytes in files, since it also writes files
   * later.
   */
  void wrote(long bytes, boolean isInMemory, long inPlaceBytes) {
    node.ifPresent(metrics -> metrics.wrote(bytes, isInMemory, inPlaceBytes));
    if (isInMemory) {
      executor.keptInMemory(bytes, inPlaceBytes);
    }
  }

  void readLocally(long bytes) {
    node.ifPresent(metrics -> metrics.readLocally(bytes));
    executor.readLocally(bytes);
  }

  void readRemotely(long bytes) {
    node.ifPresent(metrics -> metrics.readRemotely(bytes));
    executor.readRemotely(bytes);
  }
}
