/**
 * Operands of products of any numbers, as real matrices. Start from {@link
 * org.tilespark.spark.multiply.numbers.ProductOperands}.
 */
package org.tilespark.spark.multiply.numbers;
