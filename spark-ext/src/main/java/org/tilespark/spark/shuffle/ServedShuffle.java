package org.tilespark.spark.shuffle;

import java.util.Optional;

/**
 * A shuffle of blocks, and whether Spark or tilespark serves it.
 *
 * @param shuffleId Spark's id
 * @param whySpark reason for Spark's own shuffle; empty if blocks are kept in memory
 */
public record ServedShuffle(int shuffleId, Optional<String> whySpark) {}
