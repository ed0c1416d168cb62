/**
 * Plans how a multiply is distributed over tasks, by cost: pure functions. Start from {@link
 * org.tilespark.spark.multiply.cost.CuboidPlanner}.
 */
package org.tilespark.spark.multiply.cost;
