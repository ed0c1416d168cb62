/**
 * Operators that compute with each element: sums of two matrices or volumes, multiples, columns
 * without their means. They are made of Spark's own joins, aggregates and projections, and of the
 * expressions here, which work on the arrays of whole blocks. Start from {@link
 * org.tilespark.spark.elementwise.ElementwisePlans}.
 */
package org.tilespark.spark.elementwise;
