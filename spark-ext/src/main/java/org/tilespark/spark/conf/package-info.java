/**
 * The keys of the configuration: {@link org.tilespark.spark.conf.TileSparkConf} declares each once.
 */
package org.tilespark.spark.conf;
