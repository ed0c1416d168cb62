/**
 * Cached blocks outside the heap. {@link org.tilespark.spark.cache.BlockCacheSerializer}, which
 * Spark asks how to cache a frame, is the class to start from.
 */
package org.tilespark.spark.cache;
