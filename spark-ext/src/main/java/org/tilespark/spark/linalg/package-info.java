/**
 * Factorisations of matrices: their plans ({@link org.tilespark.spark.linalg.FactorPlans}, from
 * which to start), and the expression that factorises a matrix in one block.
 *
 * <p>A matrix of many more rows than columns is <em>tall</em>. It is factorised in <em>strips</em>,
 * blocks of some rows and all columns, and from the stack of their factors R.
 */
package org.tilespark.spark.linalg;
