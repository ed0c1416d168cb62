package org.tilespark.spark;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;

/**
 * The results of {@link MatrixBlocks#lstsq}, as matrix blocks.
 *
 * @param x N x P, the solutions
 * @param residuals P x 1, for each column of B the sum of the squares of B - A X; given for any
 *     rank
 * @param rank 1 x 1, the number of singular values of A that do not count as zero
 * @param s min(M, N) x 1, the singular values of A, descending
 */
public record Lstsq(Dataset<Row> x, Dataset<Row> residuals, Dataset<Row> rank, Dataset<Row> s) {
  static Lstsq of(Dataset<Row> table) {
    return new Lstsq(
        MatrixBlocks.factor(table, "x"),
        MatrixBlocks.factor(table, "residuals"),
        MatrixBlocks.factor(table, "rank"),
        MatrixBlocks.factor(table, "s"));
  }
}
