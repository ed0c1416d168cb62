/**
 * The data source {@code npy}: reads a numpy .npy file into a DataFrame of blocks and writes blocks
 * into one .npy file. Start from {@link org.tilespark.spark.npy.NpyDataSource}.
 *
 * <p>Reading: {@link org.tilespark.spark.npy.NpyHeader} says what the file holds, {@link
 * org.tilespark.spark.npy.BlockGrid} cuts it, a task's {@link
 * org.tilespark.spark.npy.NpyBlockReader} brings one block into Arrow memory. Writing: tasks put
 * blocks into a hidden file through {@link org.tilespark.spark.npy.NpyBlockWriter}, the driver
 * checks what they wrote with {@link org.tilespark.spark.validate.Coverage} and renames the file.
 *
 * <p>May depend on Spark, Hadoop's file systems, arrow-bridge and gpu-kernels; knows no CUDA.
 */
package org.tilespark.spark.npy;
