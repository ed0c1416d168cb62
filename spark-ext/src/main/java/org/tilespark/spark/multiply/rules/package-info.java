/**
 * Rules of the optimizer for products of matrices. Start from {@link
 * org.tilespark.spark.multiply.rules.SimplifyMultiply}.
 */
package org.tilespark.spark.multiply.rules;
