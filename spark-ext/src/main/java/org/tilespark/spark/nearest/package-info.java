/**
 * Computes Spark's {@code NEAREST k BY} by products of vectors: the rows of each partition become
 * strips, which hold vectors and rows; each task searches the tiles of a product of strips of both
 * sides, and joins the winners' rows. Start from {@link org.tilespark.spark.nearest.PlanNearest}.
 */
package org.tilespark.spark.nearest;
