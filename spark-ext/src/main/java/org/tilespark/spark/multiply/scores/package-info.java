/**
 * Reductions of tiles of {@code A B^T}, whose rows are scores of vectors: nearest neighbours and
 * pairs above a threshold, with scores in double whatever the tile's type. Pure functions over host
 * memory; no Spark. Start from {@link org.tilespark.spark.multiply.scores.Reduction}.
 *
 * <p>A <em>query</em> is a row of A. A <em>candidate</em> of a query is a row of B that may be in
 * its result, given by its <em>place</em>, which is the row's number, and a <em>key</em>, which is
 * larger for a nearer row.
 */
package org.tilespark.spark.multiply.scores;
