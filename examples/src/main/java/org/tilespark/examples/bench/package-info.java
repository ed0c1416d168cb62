/**
 * Jobs that measure; the figures of docs/benchmarks.md come from {@link
 * org.tilespark.examples.bench.BlockTransposeBenchmark}.
 */
package org.tilespark.examples.bench;
