/**
 * Plans how a multiply is distributed over tasks, by cost: pure functions. Start from {@link
 * org.tilespark.spark.multiply.cost.CuboidPlanner}.
 *
 * <p>In a product C = A B of an M x K and a K x N matrix, a <em>cuboid</em> is the product of one
 * part each of M, N and K, which one task computes. Its part of C is a <em>tile</em>; if K is cut,
 * tiles are partial sums, which a second shuffle adds. Blocks that stay <em>in place</em> are read
 * in their partitions, without a shuffle. A <em>gram</em> is the product of a matrix with its own
 * transpose. C is <em>reduced</em> if tasks keep only some scores computed from it.
 */
package org.tilespark.spark.multiply.cost;
