/**
 * Finds the best tiling, or the best way to multiply, for a class of problems by trials, and
 * remembers it on disk. Start from {@link org.tilespark.kernels.tune.Autotuner}. Depends only on
 * the planners: the owner of a device passes a function that times a plan.
 */
package org.tilespark.kernels.tune;
