/**
 * Finds all that is wrong with a DataFrame of blocks, as a DataFrame. Start from {@link
 * org.tilespark.spark.validate.BlockValidator}.
 *
 * <p>May depend on Spark, on the block schema and on gpu-kernels' layout values.
 */
package org.tilespark.spark.validate;
