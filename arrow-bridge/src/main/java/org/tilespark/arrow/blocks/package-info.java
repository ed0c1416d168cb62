/**
 * Programs on blocks and on arrays that are assembled from parts: {@link
 * org.tilespark.arrow.blocks.BlockProgram}, its steps, and the pipelines that run it on the CPU and
 * on a device. Start from {@link org.tilespark.arrow.blocks.BlockPipeline}.
 */
package org.tilespark.arrow.blocks;
