/**
 * The exchange: blocks are moved between tasks outside the heap, through {@link
 * org.tilespark.arrow.store}. {@link org.tilespark.spark.shuffle.TileShuffleManager} is the class
 * to start from. Only this package and the cache use classes of Spark's shuffle, storage and
 * network.
 */
package org.tilespark.spark.shuffle;
