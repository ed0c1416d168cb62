package org.tilespark.spark.source;

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
import org.tilespark.spark.error.ErrorCondition;
import org.tilespark.spark.error.InvalidInputException;

/**
 * Common part of the data sources of all formats: one stored array as a DataFrame of blocks, and
 * back. A format's package has a public class that extends this and is named in {@code
 * META-INF/services/org.apache.spark.sql.sources.DataSourceRegister}.
 *
 * <p>Modes {@code errorIfExists}, {@code overwrite} and {@code ignore} work, {@code append} does
 * not: an array's blocks are written at once.
 */
public abstract class BlockDataSource
    implements TableProvider, DataSourceRegister, CreatableRelationProvider {
  /** Spark's key for the columns given to {@code partitionBy}. */
  private static final String PARTITION_COLUMNS = "__partition_columns";

  /**
   * The format with a user's options, or with the properties of a catalog's table, which include
   * them.
   *
   * @throws IllegalArgumentException if an option is unknown or wrong, or there is no path
   */
  protected abstract BlockFormat format(CaseInsensitiveStringMap options);

  /**
   * The columns of the array's blocks.
   *
   * <p>Fails with a {@link org.tilespark.spark.error.TileSparkException} if the options are wrong,
   * if nothing is stored there, or if blocks cannot hold the array.
   */
  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    return ErrorBoundary.PLANNING.call(
        () -> {
          BlockFormat chosen = format(options);
          return chosen
              .source(hadoopConf())
              .orElseThrow(
                  () ->
                      new InvalidInputException(
                          ErrorCondition.INVALID_FILE, "Path does not exist: " + chosen.path()))
              .schema();
        });
  }

  /** True, since a given schema is checked against that of the stored array, if there is one. */
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
          BlockFormat chosen = format(new CaseInsensitiveStringMap(properties));
          return new BlockTable(chosen, schema, hadoopConf());
        });
  }

  /**
   * Writes a DataFrame: as {@code df.write().format(...).save(path)} does.
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

  private void write(
      SaveMode mode, scala.collection.immutable.Map<String, String> parameters, Dataset<Row> data) {
    if (parameters.contains(PARTITION_COLUMNS)) {
      throw partitioned();
    }
    BlockFormat chosen = format(new CaseInsensitiveStringMap(ScalaInterop.javaMap(parameters)));
    if (mode == SaveMode.Append) {
      throw appended(chosen);
    }
    BlockSink sink = chosen.sink(hadoopConf());
    boolean exists = sink.exists();
    if (exists && mode == SaveMode.ErrorIfExists) {
      throw alreadyExists(sink);
    }
    if (!exists || mode == SaveMode.Overwrite) {
      BlockWrite.write(data, sink, mode == SaveMode.Overwrite);
    }
  }

  /** The error that refuses to append. */
  static IllegalArgumentException appended(BlockFormat format) {
    return new IllegalArgumentException(
        ("format %s cannot append to %s: %s, and its blocks are written at once. Use"
                + " mode overwrite (INSERT OVERWRITE) or another path")
            .formatted(format.name(), format.path(), format.holds()));
  }

  private IllegalArgumentException partitioned() {
    return new IllegalArgumentException(
        "format " + shortName() + " writes one array and takes no partition columns");
  }

  /** The error of Spark's own sources for a target that exists. */
  private static RuntimeException alreadyExists(BlockSink sink) {
    throw ErrorBoundary.thrown(
        QueryCompilationErrors.outputPathAlreadyExistsError(
            new org.apache.hadoop.fs.Path(sink.location())));
  }

  private static Configuration hadoopConf() {
    return ((org.apache.spark.sql.classic.SparkSession) SparkSession.active())
        .sessionState()
        .newHadoopConf();
  }

  /** The relation of a finished write, for Spark. */
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
