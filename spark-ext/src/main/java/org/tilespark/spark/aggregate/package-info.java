/** Aggregates over the blocks of an array. Start from {@code VolumeAggregate}. */
package org.tilespark.spark.aggregate;
