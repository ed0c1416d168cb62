package org.tilespark.spark.source.raw;

import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.tilespark.spark.source.BlockDataSource;
import org.tilespark.spark.source.BlockFormat;

/**
 * The data source {@code raw-test}: numbers without a codec after four bytes of a mark, as the
 * smallest format that CONTRIBUTING's recipe leads to.
 */
public final class RawDataSource extends BlockDataSource {
  @Override
  public String shortName() {
    return RawFormat.NAME;
  }

  @Override
  protected BlockFormat format(CaseInsensitiveStringMap options) {
    return RawFormat.of(options);
  }
}
