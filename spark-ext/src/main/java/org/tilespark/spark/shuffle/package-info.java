/**
 * The exchange: blocks that go from task to task outside the heap, through {@link
 * org.tilespark.arrow.store}. {@link org.tilespark.spark.shuffle.TileShuffleManager} is the class
 * to start from. No other package but the cache names classes of Spark's shuffle, storage and
 * network.
 */
package org.tilespark.spark.shuffle;
