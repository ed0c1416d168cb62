package org.tilespark.spark;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;

/**
 * The eigenvalues and eigenvectors of {@link MatrixBlocks#eigh}, as matrix blocks.
 *
 * @param values K x 1, the eigenvalues, ascending
 * @param vectors N x K, an eigenvector of norm 1 in each column
 */
public record Eigh(Dataset<Row> values, Dataset<Row> vectors) {
  static Eigh of(Dataset<Row> table) {
    return new Eigh(MatrixBlocks.factor(table, "values"), MatrixBlocks.factor(table, "vectors"));
  }
}
