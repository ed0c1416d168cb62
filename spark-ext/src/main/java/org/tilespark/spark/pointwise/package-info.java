/**
 * Operators that compute with each element: multiples, sums, products. Start from {@link
 * org.tilespark.spark.pointwise.PointwisePlans}.
 */
package org.tilespark.spark.pointwise;
