/**
 * How arrays are spread over tasks: boxes, cuts, and the choice of cuboids for a multiply. Pure
 * values and functions that know neither Spark nor a device; start from {@link
 * org.tilespark.spark.distribution.Cuts} and {@link
 * org.tilespark.spark.distribution.CuboidPlanner}.
 */
package org.tilespark.spark.distribution;
