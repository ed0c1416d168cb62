/**
 * Computes Spark's {@code NEAREST k BY} by products of vectors: the rows of each partition become
 * strips, which hold vectors and rows; each task searches the tiles of a product of strips of both
 * sides, and joins the winners' rows. Start from {@link org.tilespark.spark.nearest.PlanNearest}.
 *
 * <p>The <em>winners</em> of a row of the left side are the at most k nearest rows of the right
 * side; together they are a <em>match</em>. A <em>grade</em> orders winners, the greatest first.
 */
package org.tilespark.spark.nearest;
