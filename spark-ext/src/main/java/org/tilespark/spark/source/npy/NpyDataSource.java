package org.tilespark.spark.source.npy;

import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.errors.QueryCompilationErrors;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.sources.CreatableRelationProvider;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.error.ErrorBoundary;

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
 * header says is refused as a truncated one is. Filters on the places and sizes of blocks are
 * answered before anything is read; a query that needs no values does not open the file.
 *
 * <p>Writing: to a local or shared POSIX path, in C order and little-endian, byte for byte what
 * {@code numpy.save} writes. The blocks must tile the array. The file appears under its name when
 * all of it is on the disk. Its type is the option {@code dtype}, else that of the file that was
 * read if the columns still have the type which such a file becomes, else the columns' own. Modes
 * {@code errorIfExists}, {@code overwrite} and {@code ignore} work, {@code append} does not.
 *
 * <p>From SQL: {@code CREATE TEMPORARY VIEW v USING npy OPTIONS (path '...')}, {@code CREATE TABLE
 * t USING npy LOCATION '...' AS SELECT ...}, {@code INSERT OVERWRITE t SELECT ...}.
 */
public final class NpyDataSource
    implements TableProvider, DataSourceRegister, CreatableRelationProvider {
  /** Spark's key for what {@code partitionBy} was given. */
  private static final String PARTITION_COLUMNS = "__partition_columns";

  /** Made by Spark. */
  public NpyDataSource() {}

  @Override
  public String shortName() {
    return "npy";
  }

  /**
   * The columns of the file's blocks.
   *
   * <p>Fails with a {@link org.tilespark.spark.error.TileSparkException} if the options are wrong,
   * or there is no such file, or blocks cannot hold what it holds.
   */
  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    return ErrorBoundary.PLANNING.call(
        () -> {
          NpyOptions chosen = NpyOptions.of(options);
          NpyFile file = ErrorBoundary.FILES.call(() -> NpyFile.open(chosen.path(), hadoopConf()));
          return NpyLayout.of(file, chosen).schema();
        });
  }

  /** A schema that is given is checked against the file's, when there is a file. */
  @Override
  public boolean supportsExternalMetadata() {
    return true;
  }

  @Override
  public Table getTable(
      StructType schema, Transform[] partitioning, Map<String, String> properties) {
    return ErrorBoundary.PLANNING.call(
        () -> {
          if (partitioning.length > 0) {
            throw partitioned();
          }
          NpyOptions options = NpyOptions.of(new CaseInsensitiveStringMap(properties));
          return new NpyTable(options, schema, hadoopConf());
        });
  }

  /**
   * Writes a DataFrame: the way of {@code df.write().format("npy").save(path)}.
   *
   * <p>Fails with a {@link org.tilespark.spark.error.TileSparkException} if the mode is append, or
   * the data are not the blocks of one array.
   */
  @Override
  public BaseRelation createRelation(
      SQLContext sqlContext,
      SaveMode mode,
      scala.collection.immutable.Map<String, String> parameters,
      Dataset<Row> data) {
    ErrorBoundary.PLANNING.run(() -> write(mode, parameters, data));
    return new Written(sqlContext, data.schema());
  }

  private static void write(
      SaveMode mode, scala.collection.immutable.Map<String, String> parameters, Dataset<Row> data) {
    if (parameters.contains(PARTITION_COLUMNS)) {
      throw partitioned();
    }
    NpyOptions options =
        NpyOptions.of(new CaseInsensitiveStringMap(ScalaInterop.javaMap(parameters)));
    if (mode == SaveMode.Append) {
      throw appended(options.path());
    }
    PosixTarget target = PosixTarget.of(options.path(), hadoopConf());
    boolean exists = target.exists();
    if (exists && mode == SaveMode.ErrorIfExists) {
      throw alreadyExists(target);
    }
    if (!exists || mode == SaveMode.Overwrite) {
      NpySink.write(data, options, target, mode == SaveMode.Overwrite);
    }
  }

  /** The refusal to append. */
  static IllegalArgumentException appended(String path) {
    return new IllegalArgumentException(
        "format npy cannot append to "
            + path
            + ": a .npy file holds one array, and its blocks are"
            + " written at once. Use mode overwrite (INSERT OVERWRITE) or another path");
  }

  private static IllegalArgumentException partitioned() {
    return new IllegalArgumentException(
        "format npy writes one file and takes no partition columns");
  }

  /** As Spark's own sources say it. */
  private static RuntimeException alreadyExists(PosixTarget target) {
    throw ErrorBoundary.thrown(
        QueryCompilationErrors.outputPathAlreadyExistsError(
            new org.apache.hadoop.fs.Path(target.path().toUri())));
  }

  private static Configuration hadoopConf() {
    return ((org.apache.spark.sql.classic.SparkSession) SparkSession.active())
        .sessionState()
        .newHadoopConf();
  }

  /** What Spark asks of a finished write. */
  private static final class Written extends BaseRelation {
    private final SQLContext sqlContext;
    private final StructType schema;

    private Written(SQLContext sqlContext, StructType schema) {
      this.sqlContext = sqlContext;
      this.schema = schema;
    }

    @Override
    public SQLContext sqlContext() {
      return sqlContext;
    }

    @Override
    public StructType schema() {
      return schema;
    }
  }
}
