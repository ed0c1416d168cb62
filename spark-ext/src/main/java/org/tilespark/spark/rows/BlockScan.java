package org.tilespark.spark.rows;

import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.connector.read.Scan;

/**
 * A scan of the blocks of one stored array, each once, whose batches hold our Arrow lists. Its
 * columns have the names of {@link org.tilespark.spark.block.BlockKind}.
 */
public interface BlockScan extends Scan {
  /**
   * This scan and others, shared out to tasks alike: a block is in the partition of the same number
   * as the blocks at its place that the others read.
   *
   * @return in the order of this one and then {@code others}; empty if their tilings or the orders
   *     in which they read differ
   */
  Optional<List<BlockScan>> sharedWith(List<BlockScan> others);
}
