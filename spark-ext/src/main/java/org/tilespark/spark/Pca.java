package org.tilespark.spark;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;

/**
 * The factors of {@link MatrixBlocks#pca}, as matrix blocks.
 *
 * @param components K x N, with orthonormal rows in the order of descending variance; the element
 *     with the largest absolute value of each row is positive
 * @param singularValues K x 1, the singular values of the centred matrix
 * @param explainedVariance K x 1, the variance along each component, with the divisor M - 1
 * @param explainedVarianceRatio K x 1, the ratio of each variance to the sum of the variances of
 *     all columns
 * @param mean 1 x N, the mean of each column
 * @param scores M x K, the centred matrix times the components
 */
public record Pca(
    Dataset<Row> components,
    Dataset<Row> singularValues,
    Dataset<Row> explainedVariance,
    Dataset<Row> explainedVarianceRatio,
    Dataset<Row> mean,
    Dataset<Row> scores) {
  static Pca of(Dataset<Row> table) {
    return new Pca(
        MatrixBlocks.factor(table, "components"),
        MatrixBlocks.factor(table, "singular_values"),
        MatrixBlocks.factor(table, "explained_variance"),
        MatrixBlocks.factor(table, "explained_variance_ratio"),
        MatrixBlocks.factor(table, "mean"),
        MatrixBlocks.factor(table, "scores"));
  }
}
