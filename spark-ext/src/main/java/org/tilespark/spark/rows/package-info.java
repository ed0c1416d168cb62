/**
 * Blocks in Spark's rows and batches: cursors, writers, checks of a row, transitions. Start from
 * {@code BlockCursor}.
 */
package org.tilespark.spark.rows;
