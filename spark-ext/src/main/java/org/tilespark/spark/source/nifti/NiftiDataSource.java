package org.tilespark.spark.source.nifti;

import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.tilespark.spark.source.BlockDataSource;
import org.tilespark.spark.source.BlockFormat;

/**
 * The data source {@code nifti}: one NIfTI-1 or NIfTI-2 file, {@code .nii} or {@code .nii.gz}, as a
 * DataFrame of blocks. Reads only.
 *
 * <p>The first three axes of the file, {@code x, y, z}, are those of a volume; a file of two axes
 * is a matrix. Further axes are leading axes with the columns {@code t}, {@code u}, {@code v},
 * {@code w}, the slowest first. Numbers are scaled by {@code scl_slope} and {@code scl_inter}; then
 * the columns are DOUBLE, with {@code as=float} FLOAT. Distances are those of {@code pixdim}. The
 * option {@code blockShape} is as that of {@code format("npy")}. Orientations and extensions are
 * left out.
 */
public final class NiftiDataSource extends BlockDataSource {
  static final String FORMAT = "nifti";

  /** A constructor for Spark. */
  public NiftiDataSource() {}

  @Override
  public String shortName() {
    return FORMAT;
  }

  @Override
  protected BlockFormat format(CaseInsensitiveStringMap options) {
    return NiftiOptions.of(options);
  }
}
