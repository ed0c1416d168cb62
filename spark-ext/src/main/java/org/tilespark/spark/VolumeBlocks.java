package org.tilespark.spark;

import java.util.Optional;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.plans.BlockPlans;
import org.tilespark.spark.validate.BlockValidator;

/**
 * Operators on volumes held as DataFrames of blocks: {@code x BIGINT, y BIGINT, z BIGINT, nx INT,
 * ny INT, nz INT, values ARRAY<T> [, imag ARRAY<T>]}, one block per row, values row-major with z
 * contiguous.
 *
 * <p>Laziness, errors and set-up are as for {@link MatrixBlocks}.
 */
public final class VolumeBlocks {
  private VolumeBlocks() {}

  /**
   * The volume with its axes reordered: output axis {@code i} is the input axis that the {@code
   * i}-th letter names, so {@code "yzx"} gives {@code Y(j,k,i) = X(i,j,k)}. In the result the
   * columns x, y, z (and nx, ny, nz) mean output axes 0, 1, 2. No shuffle; further columns are
   * carried through.
   *
   * @param df blocks of TINYINT, SMALLINT, INT, BIGINT, FLOAT or DOUBLE, real or complex
   * @param axes one of xyz, xzy, yxz, yzx, zxy, zyx
   * @throws IllegalArgumentException if {@code df} has no volume blocks or {@code axes} is no order
   * @throws IllegalStateException if the session lacks the extension
   */
  public static Dataset<Row> permute(Dataset<Row> df, String axes) {
    Permutation permutation = Permutation.parse(axes);
    return Datasets.map(
        df,
        plan -> BlockPlans.permute(plan, BlockKind.VOLUME, permutation, "VolumeBlocks.permute"));
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
    return BlockValidator.validate(df, BlockKind.VOLUME);
  }

  /**
   * The same blocks with the extents of the whole volume stated as column metadata, in place of
   * what was stated before.
   */
  public static Dataset<Row> withExtents(Dataset<Row> df, long nx, long ny, long nz) {
    return withExtents(df, nx + "," + ny + "," + nz);
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
                plan, BlockKind.VOLUME, Optional.of(extents), "VolumeBlocks.withExtents"));
  }
}
