/**
 * Arrays of other shapes: elements put before and after, rolled, reshaped, and blocks that overlap
 * their neighbours. Start from {@link org.tilespark.spark.reshape.PadPlans}.
 */
package org.tilespark.spark.reshape;
