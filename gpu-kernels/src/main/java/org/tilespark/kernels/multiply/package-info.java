/**
 * Products of matrices: the problem, the planner, its strategies, and the launches of each
 * strategy. Start from {@link org.tilespark.kernels.multiply.MultiplyPlanner}. Plans are pure
 * values: all decisions are made before one runs.
 */
package org.tilespark.kernels.multiply;
