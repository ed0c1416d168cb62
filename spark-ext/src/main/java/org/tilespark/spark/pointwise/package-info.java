/**
 * Operators that compute with each element: multiples, sums, products of spectra. Start from {@link
 * org.tilespark.spark.pointwise.ElementwisePlans}.
 */
package org.tilespark.spark.pointwise;
