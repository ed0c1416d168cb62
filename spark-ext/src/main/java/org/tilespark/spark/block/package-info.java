/**
 * The data model of blocks: their columns, kinds (matrix or volume) and column metadata, and the
 * facts of an array that are known during planning. Start from {@link
 * org.tilespark.spark.block.BlockSchema}.
 */
package org.tilespark.spark.block;
