/**
 * The rows of a product that was reduced: neighbours of queries, and candidates for them, which are
 * merged. Start from {@link org.tilespark.spark.multiply.neighbours.NeighbourRows}.
 */
package org.tilespark.spark.multiply.neighbours;
