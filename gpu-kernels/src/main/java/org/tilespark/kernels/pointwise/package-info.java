/**
 * What becomes of each element of an array by itself, in one pass: the instructions of {@link
 * org.tilespark.kernels.pointwise.PointwiseProgram}.
 */
package org.tilespark.kernels.pointwise;
