package org.tilespark.spark;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;

/**
 * The factors of {@link MatrixBlocks#qr}, as matrix blocks.
 *
 * @param q M x min(M, N), with orthonormal columns
 * @param r min(M, N) x N, upper triangular
 */
public record Qr(Dataset<Row> q, Dataset<Row> r) {
  static Qr of(Dataset<Row> table) {
    return new Qr(MatrixBlocks.factor(table, "q"), MatrixBlocks.factor(table, "r"));
  }
}
