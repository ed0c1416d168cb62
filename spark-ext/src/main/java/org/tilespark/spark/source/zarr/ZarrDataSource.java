package org.tilespark.spark.source.zarr;

import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.tilespark.spark.source.BlockDataSource;
import org.tilespark.spark.source.BlockFormat;

/**
 * The data source {@code zarr}: one array of a Zarr store, of version 2 or 3, as a DataFrame of
 * blocks, and back.
 *
 * <pre>{@code
 * Dataset<Row> v = spark.read().format("zarr").option("level", "1").load("s3a://bucket/image.zarr");
 * v.write().format("zarr").option("chunks", "64,64,64").mode("overwrite").save("out.zarr");
 * }</pre>
 *
 * <p>On any Hadoop file system. The driver reads metadata and lists nothing; tasks read chunks, or
 * ranges of shards, and decode them into their blocks. An array of two axes becomes matrix blocks,
 * of three volume blocks, of one a matrix of one row; for arrays of more axes, {@code select}
 * chooses one index of each further axis. Types are converted as by {@code format("npy")}. Blocks
 * are whole chunks unless {@code blockShape} says otherwise. A chunk that is not stored consists of
 * the array's fill value; with {@code missing} = {@code error} it is an error.
 *
 * <p>The column {@code values} has the names of the axes and, for OME-Zarr, the distance between
 * neighbours as metadata: {@value ZarrSource#NAMES}, {@value ZarrSource#SPACING}, as they are
 * stored.
 *
 * <p>Writing, to any Hadoop file system: the blocks must tile the array. One task writes a whole
 * chunk or shard at once, after a re-block if the blocks do not fit. Chunks that contain only the
 * fill value are left out. The metadata are written last: before that, the array does not exist.
 * Mode {@code overwrite} removes the old metadata and then the old chunks before the first write,
 * so that a failed write leaves no array. Two attempts of one task write the same objects. Data is
 * not forced to disk. Types are kept, and types that were widened by reading are restored, as by
 * {@code format("npy")}.
 */
public final class ZarrDataSource extends BlockDataSource {
  static final String FORMAT = "zarr";

  /** A constructor for Spark. */
  public ZarrDataSource() {}

  @Override
  public String shortName() {
    return FORMAT;
  }

  @Override
  protected BlockFormat format(CaseInsensitiveStringMap options) {
    return ZarrOptions.of(options);
  }
}
