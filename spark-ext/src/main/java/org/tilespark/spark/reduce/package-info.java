/**
 * Reductions: what each computes ({@link org.tilespark.spark.reduce.ArrayReduction}, from which to
 * start), and their plans.
 */
package org.tilespark.spark.reduce;
