/**
 * Benchmarks of the pipelines between Arrow buffers, without Spark. Start from {@link
 * org.tilespark.bench.arrow.ArrowTransposeBenchmark}.
 */
package org.tilespark.bench.arrow;
