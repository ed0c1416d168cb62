package org.tilespark.spark.rows;

import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.connector.read.Scan;

/**
 * A scan of the blocks of one stored array, each exactly once, whose batches hold our Arrow lists.
 * Its columns have the names of {@link org.tilespark.spark.block.BlockKind}.
 */
public interface BlockScan extends Scan {
  /**
   * This scan and others with the same assignment of blocks to partitions: blocks at the same place
   * are in partitions of the same number in all scans.
   *
   * @return this scan's replacement, then those of {@code others}; empty if tilings or reading
   *     orders differ
   */
  Optional<List<BlockScan>> sharedWith(List<BlockScan> others);
}
