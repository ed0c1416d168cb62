/**
 * Spark jobs that measure the figures of docs/benchmarks.md and docs/tuning.md. Start from {@link
 * org.tilespark.bench.spark.BlockTransposeBenchmark}.
 */
package org.tilespark.bench.spark;
