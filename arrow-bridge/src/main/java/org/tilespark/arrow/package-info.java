/**
 * Blocks in Arrow buffers: where the buffers come from ({@link org.tilespark.arrow.ArrowMemory}),
 * how a batch of blocks looks as an Arrow vector ({@link org.tilespark.arrow.BlockVectors}), and
 * the pipelines that permute batches on the host or on a device ({@link
 * org.tilespark.arrow.PermutePipeline}; start there). Whole arrays, in parts, are
 * Fourier-transformed by pipelines of another kind ({@link org.tilespark.arrow.FourierPipeline}).
 *
 * <p>May depend on gpu-kernels and Arrow; knows no Spark.
 */
package org.tilespark.arrow;
