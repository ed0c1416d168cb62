package org.tilespark.spark.source.npy;

import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.tilespark.spark.source.BlockDataSource;
import org.tilespark.spark.source.BlockFormat;

/**
 * The data source {@code npy}: one numpy .npy file as a DataFrame of blocks, and back.
 *
 * <pre>{@code
 * Dataset<Row> m = spark.read().format("npy").option("blockShape", "2048,2048").load("a.npy");
 * m.write().format("npy").mode("overwrite").save("b.npy");
 * }</pre>
 *
 * <p>Reading: files of versions 1.0 to 3.0, in C or Fortran order, of either byte order, on any
 * Hadoop file system. An array of two axes becomes matrix blocks, of three volume blocks; the
 * DataFrame holds numpy's logical array whatever the file's order. int8 to int64, float32 and
 * float64 are kept, uint8, uint16 and uint32 become SMALLINT, INT and BIGINT, float16 becomes
 * FLOAT, complex numbers become the columns {@code values} and {@code imag}. The option {@code
 * blockShape} gives the elements per axis of a block (more than the extent means the whole axis),
 * {@code as} = {@code float} or {@code double} converts the values. A file that is longer than its
 * header says is refused, as is a truncated one. Filters on the places and sizes of blocks are
 * evaluated before data is read; a query that needs no values does not open the file.
 *
 * <p>Writing: to a local or shared POSIX path, in C order and little-endian, byte for byte what
 * {@code numpy.save} writes. The blocks must tile the array. The file appears under its name when
 * it is completely on the disk. Its type is the option {@code dtype}; otherwise that of the file
 * that was read, if the columns still have the type to which that file is converted; otherwise the
 * columns' own. Modes {@code errorIfExists}, {@code overwrite} and {@code ignore} work, {@code
 * append} does not.
 *
 * <p>From SQL: {@code CREATE TEMPORARY VIEW v USING npy OPTIONS (path '...')}, {@code CREATE TABLE
 * t USING npy LOCATION '...' AS SELECT ...}, {@code INSERT OVERWRITE t SELECT ...}.
 */
public final class NpyDataSource extends BlockDataSource {
  static final String FORMAT = "npy";

  /** A constructor for Spark. */
  public NpyDataSource() {}

  @Override
  public String shortName() {
    return FORMAT;
  }

  @Override
  protected BlockFormat format(CaseInsensitiveStringMap options) {
    return NpyOptions.of(options);
  }
}
