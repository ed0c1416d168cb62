/**
 * Cached blocks outside the heap, as images: the bytes of each row after a short header. {@link
 * org.tilespark.spark.cache.BlockCacheSerializer}, which Spark asks how to cache a frame, is the
 * class to start from.
 */
package org.tilespark.spark.cache;
