/**
 * How a multiply is spread over tasks, and what that costs: pure functions. Start from {@link
 * org.tilespark.spark.multiply.cost.CuboidPlanner}.
 */
package org.tilespark.spark.multiply.cost;
