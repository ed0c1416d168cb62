/**
 * Benchmarks of the pipelines between Arrow buffers, without Spark; start from {@link
 * org.tilespark.arrow.bench.ArrowTransposeBenchmark}. They use the public API only.
 */
package org.tilespark.arrow.bench;
