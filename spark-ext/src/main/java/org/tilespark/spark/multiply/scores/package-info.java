/**
 * Reductions of tiles of {@code A B^T}, whose rows are scores of vectors: nearest neighbours and
 * pairs above a threshold, with scores in double whatever the tile's type. Pure functions over host
 * memory; no Spark. Start from {@link org.tilespark.spark.multiply.scores.Reduction}.
 */
package org.tilespark.spark.multiply.scores;
