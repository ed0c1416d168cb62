/**
 * Benchmarks of the kernels, each one {@code main} with a table on standard output; the ladders of
 * the literature.
 */
package org.tilespark.bench.kernels;
