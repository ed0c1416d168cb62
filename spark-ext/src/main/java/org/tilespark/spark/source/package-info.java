/**
 * Common parts of sources and sinks of all formats: the grid of blocks, filters on places, files
 * that appear whole or not at all.
 */
package org.tilespark.spark.source;
