/**
 * Reductions of arrays along axes: the request ({@link
 * org.tilespark.kernels.reduce.ReductionProblem}, from which to start), and the layout of the
 * elements behind each result ({@link org.tilespark.kernels.reduce.ReducedAxes}).
 */
package org.tilespark.kernels.reduce;
