/**
 * Blocks that move: cut into pieces, keyed, shuffled, assembled and checked. Start from {@link
 * org.tilespark.spark.exchange.CutBlocks} and {@link org.tilespark.spark.exchange.AssembleBlocks}.
 */
package org.tilespark.spark.exchange;
