/**
 * Functions of each element of arrays, in one pass: elementwise programs ({@link
 * org.tilespark.kernels.pointwise.ElementwiseProgram}, from which to start), their functions with
 * both twins, and the kernels that are written for them.
 */
package org.tilespark.kernels.pointwise;
