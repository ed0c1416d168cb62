/**
 * Finds the best tiling for a class of problems by trying, and remembers it on disk. Start from
 * {@link org.tilespark.kernels.tune.Autotuner}. Depends on the planner alone: whoever has a device
 * lends it a way to time a plan.
 */
package org.tilespark.kernels.tune;
