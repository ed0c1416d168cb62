/**
 * Products of block matrices: node, rules, physical nodes and tasks. Start from {@link
 * org.tilespark.spark.multiply.MultiplyPlans}.
 *
 * <p>A product is C = A B, of an M x K and a K x N matrix. These words are used for its parts:
 *
 * <ul>
 *   <li>a <em>cuboid</em> is the product of one part each of M, N and K, which one task computes;
 *   <li>a <em>tile</em> is a rectangle of C, in which a task adds up products;
 *   <li>a <em>panel</em> is the part of A or of B that a task multiplies at a time: the tile's rows
 *       or columns, over a range of K;
 *   <li>a <em>piece</em> is the part of an operand's block that belongs to one panel;
 *   <li>a <em>place</em> is an index in the whole matrix, for example that of a block's first
 *       element;
 *   <li>a <em>partial</em> block of C is summed over a part of K only;
 *   <li>blocks that stay <em>in place</em> are read in their partitions, without a shuffle;
 *   <li>a <em>gram</em> is the product of a matrix with its own transpose;
 *   <li>a product is <em>reduced</em> if tasks keep only some scores computed from C, see {@link
 *       org.tilespark.spark.multiply.scores.Reduction};
 *   <li><em>grouping columns</em> distinguish several matrices of an operand: matrices with equal
 *       values in these columns are multiplied, unless one operand is a single matrix for all.
 * </ul>
 */
package org.tilespark.spark.multiply;
