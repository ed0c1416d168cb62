/**
 * Rows and blocks: tables with a vector, or an element, in each row become matrices of blocks, and
 * blocks become rows. Start from {@code VectorPlans} and {@code SpreadPlans}; {@code
 * RepeatableRows} says which tables have an order. Knows {@code reblock}, {@code rows} and {@code
 * block}.
 */
package org.tilespark.spark.vectors;
