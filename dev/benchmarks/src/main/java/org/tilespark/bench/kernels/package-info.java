/**
 * Benchmarks of the kernels, without Arrow and Spark. Each has a {@code main} that prints a table;
 * the ladder benchmarks compare our kernels with the steps of published tutorials.
 */
package org.tilespark.bench.kernels;
