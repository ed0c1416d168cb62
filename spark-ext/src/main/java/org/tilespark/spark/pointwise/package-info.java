/**
 * Operators that compute with each element: multiples, sums, products. Start from {@link
 * org.tilespark.spark.pointwise.PointwisePlans}; what users write as text is an {@link
 * org.tilespark.spark.pointwise.ElementExpression}.
 */
package org.tilespark.spark.pointwise;
