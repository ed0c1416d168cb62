/**
 * numpy's element types, and the conversion between their bytes and the columns of blocks. Start
 * from {@link org.tilespark.spark.numpy.NpyType}; {@link org.tilespark.spark.numpy.NpyDecoder}
 * turns bytes into numbers of a column, {@link org.tilespark.spark.numpy.NpyEncoder} turns them
 * back.
 *
 * <p>May depend on gpu-kernels and on the data model of blocks; knows no files, no Arrow and no
 * Catalyst.
 */
package org.tilespark.spark.numpy;
