/** The same array in other blocks. Start from {@link org.tilespark.spark.reblock.ReblockPlans}. */
package org.tilespark.spark.reblock;
