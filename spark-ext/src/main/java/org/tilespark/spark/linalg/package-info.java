/**
 * Factorisations of matrices: their plans ({@link org.tilespark.spark.linalg.FactorPlans}, from
 * which to start), and the expression that factorises a matrix in one block.
 */
package org.tilespark.spark.linalg;
