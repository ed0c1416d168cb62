/**
 * Reordering the axes of dense arrays: the problem, the planner, its strategies and plans. Start
 * from {@link org.tilespark.kernels.transpose.TransposePlanner}. Plans are pure values: all
 * decisions are made before one runs.
 */
package org.tilespark.kernels.transpose;
