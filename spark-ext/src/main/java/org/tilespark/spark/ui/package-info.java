/**
 * The tab of Spark's web UI, and Spark's metrics. {@link org.tilespark.spark.ui.ExecutorBoard}
 * keeps the executors' status; {@code RecordJson} and, in part, {@code GpuHtml} render it. Only
 * {@link org.tilespark.spark.ui.GpuTab} touches Spark's UI classes, which are not a public
 * interface of Spark.
 */
package org.tilespark.spark.ui;
