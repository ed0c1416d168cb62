/**
 * What executors tell the driver about their devices, and the tab of Spark's web UI that shows it.
 * {@link org.tilespark.spark.ui.ExecutorStatus} travels, {@link
 * org.tilespark.spark.ui.ExecutorBoard} keeps, {@link org.tilespark.spark.ui.GpuHtml} and {@link
 * org.tilespark.spark.ui.RecordJson} render. Only {@link org.tilespark.spark.ui.GpuTab} touches
 * Spark's UI classes, which are not a public interface of Spark.
 */
package org.tilespark.spark.ui;
