/**
 * Physical nodes, and the tasks that they run. A node, {@code ...Exec}, holds plain values and says
 * where its rows must be and where they are; its task, {@code ...Task}, travels to the executors
 * and makes an iterator over the results of each partition. Start from {@link
 * org.tilespark.spark.exec.BlockStageExec}, the simplest that computes, or from {@link
 * org.tilespark.spark.exec.MultiplyPanelsExec}.
 *
 * <p>May depend on Spark, arrow-bridge and all packages of this module but rules and functions.
 */
package org.tilespark.spark.exec;
