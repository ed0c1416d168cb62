/**
 * Reductions of arrays along axes: what is asked ({@link
 * org.tilespark.kernels.reduce.ReductionProblem}, from which to start), and where the elements of a
 * result lie ({@link org.tilespark.kernels.reduce.ReducedAxes}).
 */
package org.tilespark.kernels.reduce;
