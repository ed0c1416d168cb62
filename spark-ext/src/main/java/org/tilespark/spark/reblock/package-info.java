/** Puts an array into other blocks. Start from {@link org.tilespark.spark.reblock.ReblockPlans}. */
package org.tilespark.spark.reblock;
