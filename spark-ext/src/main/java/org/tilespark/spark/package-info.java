/**
 * The classes that users call, and that Spark loads: {@link org.tilespark.spark.MatrixBlocks} and
 * {@link org.tilespark.spark.VolumeBlocks}, the operators; {@link
 * org.tilespark.spark.TileSparkExtensions} and {@link org.tilespark.spark.TileSparkPlugin}, which
 * install all parts in Spark. No other package of this module imports this one.
 */
package org.tilespark.spark;
