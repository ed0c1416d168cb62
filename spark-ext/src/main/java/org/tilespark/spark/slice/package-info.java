/**
 * Slices of arrays, and concatenation of arrays without an exchange. Start from {@link
 * org.tilespark.spark.slice.SlicePlans}.
 */
package org.tilespark.spark.slice;
