/**
 * Jobs that measure; the figures of docs/benchmarks.md and docs/tuning.md come from them. {@link
 * org.tilespark.examples.bench.RoundTripBenchmark} sets a transpose beside queries that only copy,
 * {@link org.tilespark.examples.bench.TuningBenchmark} changes one setting at a time, {@link
 * org.tilespark.examples.bench.QuerySoak} watches the memory; {@link
 * org.tilespark.examples.bench.BlockTransposeBenchmark} is the one to start reading from.
 */
package org.tilespark.examples.bench;
