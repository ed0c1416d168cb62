/**
 * Resources of an executor, the choice of the backend, and the resources that a task opens, closes
 * and counts. Start from {@link org.tilespark.spark.runtime.ExecutorRuntime}.
 */
package org.tilespark.spark.runtime;
