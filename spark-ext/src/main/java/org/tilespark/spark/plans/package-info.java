/**
 * The logical nodes, and what makes plans of them for the Java API and SQL: {@link
 * org.tilespark.spark.plans.BlockPlans}, {@link org.tilespark.spark.plans.ReblockPlans}, {@link
 * org.tilespark.spark.plans.MultiplyPlans} and {@link org.tilespark.spark.plans.FourierPlans}.
 * Start from {@link org.tilespark.spark.plans.PermuteBlocks}, the simplest node.
 */
package org.tilespark.spark.plans;
