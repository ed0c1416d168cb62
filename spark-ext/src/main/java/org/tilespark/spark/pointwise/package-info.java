/**
 * Operators that compute with each element: multiples, sums, products of spectra. Start from {@link
 * org.tilespark.spark.pointwise.PointwisePlans}.
 */
package org.tilespark.spark.pointwise;
