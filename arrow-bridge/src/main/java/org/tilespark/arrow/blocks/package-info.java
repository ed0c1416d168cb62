/**
 * Batches of blocks that are permuted block by block. Start from {@link
 * org.tilespark.arrow.blocks.PermutePipeline}.
 */
package org.tilespark.arrow.blocks;
