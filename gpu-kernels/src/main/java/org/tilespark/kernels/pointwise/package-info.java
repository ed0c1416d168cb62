/**
 * Elementwise functions of arrays, computed in one pass: elementwise programs ({@link
 * org.tilespark.kernels.pointwise.ElementwiseProgram}, from which to start), their functions on
 * host and device, and the PTX kernels that are generated for them.
 */
package org.tilespark.kernels.pointwise;
