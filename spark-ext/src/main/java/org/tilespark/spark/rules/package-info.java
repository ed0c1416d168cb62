/**
 * Optimizer and columnar rules, each named for what it does; {@link
 * org.tilespark.spark.TileSparkExtensions} lists them.
 */
package org.tilespark.spark.rules;
