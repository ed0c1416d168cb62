/**
 * Permutations of the axes of every block: node and rules. Start from {@link
 * org.tilespark.spark.permute.PermuteBlocks}, the simplest node.
 */
package org.tilespark.spark.permute;
