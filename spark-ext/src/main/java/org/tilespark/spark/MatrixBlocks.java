package org.tilespark.spark;

import java.util.Optional;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.plans.BlockPlans;
import org.tilespark.spark.validate.BlockValidator;

/**
 * Operators on matrices held as DataFrames of blocks: {@code row BIGINT, col BIGINT, rows INT, cols
 * INT, values ARRAY<T> [, imag ARRAY<T>]}, one block per row, values row-major.
 *
 * <p>{@code row} and {@code col} are the place of the block's first element in the whole matrix, so
 * any tiling is legal. All operators are lazy; what one row shows to be wrong is reported when the
 * query runs, as an {@link IllegalArgumentException} that names the block. The session must have
 * {@code spark.sql.extensions=org.tilespark.spark.TileSparkExtensions}.
 */
public final class MatrixBlocks {
  private MatrixBlocks() {}

  /**
   * The transposed matrix: block {@code (row, col)} of shape rows x cols becomes block {@code (col,
   * row)} of shape cols x rows. No shuffle; further columns are carried through.
   *
   * @param df blocks of TINYINT, SMALLINT, INT, BIGINT, FLOAT or DOUBLE, real or complex
   * @throws IllegalArgumentException if {@code df} has no matrix blocks
   * @throws IllegalStateException if the session lacks the extension
   */
  public static Dataset<Row> transpose(Dataset<Row> df) {
    return Datasets.map(
        df,
        plan ->
            BlockPlans.permute(
                plan, BlockKind.MATRIX, Permutation.of(1, 0), "MatrixBlocks.transpose"));
  }

  /**
   * All defects of the blocks, for looking before a long job: wrong lengths, nulls, places outside
   * the stated extents, overlaps and holes. Values are not moved between executors.
   *
   * @param df blocks; columns that are none of a block's own tell several arrays apart
   * @return {@code code, block, found, expected}, all STRING; lazy; no rows if the data is good.
   *     The codes are listed at {@link BlockValidator}
   */
  public static Dataset<Row> validate(Dataset<Row> df) {
    return BlockValidator.validate(df, BlockKind.MATRIX);
  }

  /**
   * The same blocks with the extents of the whole matrix stated as column metadata, in place of
   * what was stated before.
   *
   * @param rows of the whole matrix
   * @param cols of the whole matrix
   */
  public static Dataset<Row> withExtents(Dataset<Row> df, long rows, long cols) {
    return withExtents(df, rows + "," + cols);
  }

  /** The same blocks without stated extents, for frames that a union or filter left stale. */
  public static Dataset<Row> withoutExtents(Dataset<Row> df) {
    return withExtents(df, ArrayMetadata.UNKNOWN);
  }

  private static Dataset<Row> withExtents(Dataset<Row> df, String extents) {
    return Datasets.map(
        df,
        plan ->
            BlockPlans.withExtents(
                plan, BlockKind.MATRIX, Optional.of(extents), "MatrixBlocks.withExtents"));
  }
}
