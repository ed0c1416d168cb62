/**
 * Slices of arrays, and arrays put together of others without an exchange. Start from {@link
 * org.tilespark.spark.slice.SlicePlans}.
 */
package org.tilespark.spark.slice;
