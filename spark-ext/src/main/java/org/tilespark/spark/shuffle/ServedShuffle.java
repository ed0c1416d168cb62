package org.tilespark.spark.shuffle;

import java.util.Optional;

/**
 * A shuffle of blocks, and who serves it.
 *
 * @param shuffleId Spark's id
 * @param whySpark why Spark's own shuffle does; empty if blocks are kept in memory
 */
public record ServedShuffle(int shuffleId, Optional<String> whySpark) {}
