/**
 * Reordering the axes of dense arrays: the problem, the planner, its strategies and plans. Start
 * from {@link org.tilespark.kernels.transpose.TransposePlanner}. Plans are pure values: running one
 * decides nothing.
 */
package org.tilespark.kernels.transpose;
