package org.tilespark.spark.source.raw;

import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.tilespark.spark.source.BlockDataSource;
import org.tilespark.spark.source.BlockFormat;

/**
 * The data source {@code raw}: a file with the numbers of one array one after the other, after a
 * header of any kind, as a DataFrame of blocks. Reads only. A file that gzip compressed is read,
 * too.
 *
 * <pre>{@code
 * spark.read().format("raw").option("shape", "300,512,512").option("dtype", ">u2")
 *     .option("offset", "512").load("scan.raw");
 * }</pre>
 */
public final class RawDataSource extends BlockDataSource {
  static final String FORMAT = "raw";

  /** A constructor for Spark. */
  public RawDataSource() {}

  @Override
  public String shortName() {
    return FORMAT;
  }

  @Override
  protected BlockFormat format(CaseInsensitiveStringMap options) {
    return RawOptions.of(options);
  }
}
