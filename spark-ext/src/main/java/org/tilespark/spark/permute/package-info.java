/**
 * Permutations of the axes of every block: plans, and the rule that composes them. Start from
 * {@link org.tilespark.spark.permute.PermutePlans}.
 */
package org.tilespark.spark.permute;
