/**
 * What users touch, and what an executor keeps for our tasks. Start from {@link
 * org.tilespark.spark.MatrixBlocks} and {@link org.tilespark.spark.VolumeBlocks}, the operators;
 * {@link org.tilespark.spark.TileSparkExtensions} and {@link org.tilespark.spark.TileSparkPlugin}
 * are how Spark loads us, {@link org.tilespark.spark.TileSparkConf} declares every key, and {@link
 * org.tilespark.spark.ExecutorRuntime} owns devices and memory.
 */
package org.tilespark.spark;
