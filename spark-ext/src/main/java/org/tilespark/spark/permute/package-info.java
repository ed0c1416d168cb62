/**
 * Permutations of the axes of every block: plans, and the rule that makes one of several. Start
 * from {@link org.tilespark.spark.permute.PermutePlans}.
 */
package org.tilespark.spark.permute;
