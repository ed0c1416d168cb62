/**
 * What an executor owns, who computes, and what a task opens, closes and counts. Start from {@link
 * org.tilespark.spark.runtime.ExecutorRuntime}.
 */
package org.tilespark.spark.runtime;
