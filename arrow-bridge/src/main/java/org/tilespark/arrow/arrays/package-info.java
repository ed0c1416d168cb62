/**
 * Transforms of parts of an array: the steps, and the two twins that run them. Start from {@link
 * org.tilespark.arrow.arrays.FourierPipeline}.
 */
package org.tilespark.arrow.arrays;
