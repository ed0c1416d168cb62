/**
 * Arrays of other shapes: padded, rolled, reshaped, and blocks that overlap their neighbours. Start
 * from {@link org.tilespark.spark.reshape.PadPlans}.
 */
package org.tilespark.spark.reshape;
