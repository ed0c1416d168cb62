/**
 * What sources and sinks of all formats share: the grid of blocks, filters on places, files that
 * appear whole or not at all.
 */
package org.tilespark.spark.source;
