/**
 * What will run where, and why: turns logical nodes into physical ones. Start from {@link
 * org.tilespark.spark.planner.PlanBlocks}, Spark's way in; {@link
 * org.tilespark.spark.planner.ProductPlanner} plans products.
 */
package org.tilespark.spark.planner;
