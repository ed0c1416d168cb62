/**
 * The data source {@code npy}: one numpy .npy file as a DataFrame of blocks, and back. Start from
 * {@link org.tilespark.spark.source.npy.NpyDataSource}. May depend on Spark, Hadoop's file systems,
 * arrow-bridge and gpu-kernels; knows no CUDA.
 */
package org.tilespark.spark.source.npy;
