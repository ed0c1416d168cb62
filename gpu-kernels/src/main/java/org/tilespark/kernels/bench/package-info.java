/**
 * Benchmarks of the transposers and of the multipliers, each one {@code main} with a table on
 * standard output. They use the public API only.
 */
package org.tilespark.kernels.bench;
