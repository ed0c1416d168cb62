package org.tilespark.spark;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;

/**
 * The factors of {@link MatrixBlocks#svd}, as matrix blocks.
 *
 * @param u M x K, with orthonormal columns
 * @param s K x 1, the singular values, descending
 * @param vt K x N, with orthonormal rows
 */
public record Svd(Dataset<Row> u, Dataset<Row> s, Dataset<Row> vt) {
  static Svd of(Dataset<Row> table) {
    return new Svd(
        MatrixBlocks.factor(table, "u"),
        MatrixBlocks.factor(table, "s"),
        MatrixBlocks.factor(table, "vt"));
  }
}
