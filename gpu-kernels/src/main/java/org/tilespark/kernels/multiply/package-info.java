/**
 * Products of matrices: the problem, the planner, its strategies, and the steps that each consists
 * of. Start from {@link org.tilespark.kernels.multiply.MultiplyPlanner}. Plans are pure values:
 * running one decides nothing.
 */
package org.tilespark.kernels.multiply;
