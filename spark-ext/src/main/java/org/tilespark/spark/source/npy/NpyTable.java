package org.tilespark.spark.source.npy;

import java.util.Arrays;
import java.util.EnumSet;
import java.util.Objects;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.SupportsTruncate;
import org.apache.spark.sql.connector.write.V1Write;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.sources.InsertableRelation;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.error.ErrorBoundary;
import org.tilespark.spark.error.ErrorCondition;
import org.tilespark.spark.error.InvalidInputException;
import org.tilespark.spark.numpy.NpyType;

/**
 * One .npy file as a table. It looks at the file when its columns are asked for, so that it also
 * stands for a file that a write is about to make.
 *
 * <p>Tables of the same file, unchanged, with the same options are equal: Spark then finds cached
 * DataFrames again.
 */
final class NpyTable implements SupportsRead, SupportsWrite {
  private final NpyOptions options;
  private final StructType given;
  private final Configuration conf;
  private NpyLayout layout; // null until asked for, or if there is no file
  private boolean looked;

  /**
   * A table.
   *
   * @param given the columns that the user, the catalog or the query to be written states
   */
  NpyTable(NpyOptions options, StructType given, Configuration conf) {
    this.options = options;
    this.given = given;
    this.conf = conf;
  }

  @Override
  public String name() {
    return "npy " + options.path();
  }

  @Override
  public Set<TableCapability> capabilities() {
    // No BATCH_WRITE: with it DataFrameWriter.save would refuse the modes errorIfExists and ignore.
    // ACCEPT_ANY_SCHEMA: else Spark would replace the written columns' metadata by the table's.
    return EnumSet.of(
        TableCapability.BATCH_READ,
        TableCapability.V1_BATCH_WRITE,
        TableCapability.TRUNCATE,
        TableCapability.ACCEPT_ANY_SCHEMA);
  }

  @Override
  public Column[] columns() {
    return Arrays.stream(schema().fields())
        .map(
            field ->
                Column.create(
                    field.name(),
                    field.dataType(),
                    field.nullable(),
                    null,
                    field.metadata().json()))
        .toArray(Column[]::new);
  }

  /** The same as a struct: Spark 4.0 declares no default for this method, newer ones do. */
  @Override
  @SuppressWarnings("deprecation") // Spark 4.0 has no other way to implement a table
  public StructType schema() {
    NpyLayout found = ErrorBoundary.PLANNING.call(this::layout);
    return found == null ? given : found.schema();
  }

  /** The file's layout, or null if there is no file yet. */
  private NpyLayout layout() {
    if (!looked) {
      if (NpyFile.exists(options.path(), conf)) {
        NpyFile file = ErrorBoundary.FILES.call(() -> NpyFile.open(options.path(), conf));
        layout = NpyLayout.of(file, options);
        requireSame(given, layout.schema());
      }
      looked = true;
    }
    return layout;
  }

  private void requireSame(StructType stated, StructType found) {
    boolean same = stated.length() == found.length();
    for (int i = 0; same && i < stated.length(); i++) {
      StructField field = stated.fields()[i];
      same =
          field.name().equalsIgnoreCase(found.fields()[i].name())
              && field.dataType().sql().equals(found.fields()[i].dataType().sql());
    }
    if (!same) {
      throw new IllegalArgumentException(
          options.path()
              + ": the stated schema is ("
              + stated.toDDL()
              + "), the file's is ("
              + found.toDDL()
              + "); leave the schema out, or convert with the option "
              + NpyOptions.AS);
    }
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap scanOptions) {
    return ErrorBoundary.PLANNING.call(() -> scanBuilder(scanOptions));
  }

  private NpyScanBuilder scanBuilder(CaseInsensitiveStringMap scanOptions) {
    NpyLayout found = layout();
    if (found == null) {
      throw new InvalidInputException(
          ErrorCondition.INVALID_FILE, "Path does not exist: " + options.path());
    }
    NpyOptions asked = options.overriddenBy(scanOptions);
    if (!Objects.equals(asked.blockShape(), options.blockShape()) || asked.as() != options.as()) {
      throw new IllegalArgumentException(
          name()
              + ": a query asks for the options blockShape "
              + asked.blockShape()
              + " and as "
              + asked.as()
              + ", the table has "
              + options.blockShape()
              + " and "
              + options.as()
              + "; its columns depend on them, so state them in CREATE TABLE ... OPTIONS, or read"
              + " the file with spark.read().format(\"npy\")");
    }
    return new NpyScanBuilder(found, conf);
  }

  @Override
  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    return ErrorBoundary.PLANNING.call(
        () -> new Builder(info.schema(), options.overriddenBy(info.options())));
  }

  /** Checks that what is written reads back with the columns that the catalog keeps. */
  private void requireWritable(StructType written, NpyOptions chosen) {
    BlockSchema schema = NpySink.requireBlocks(written);
    StructType table = given;
    for (StructField field : table.fields()) {
      boolean same =
          Arrays.stream(written.fields())
              .anyMatch(
                  other ->
                      other.name().equalsIgnoreCase(field.name())
                          && other.dataType().sql().equals(field.dataType().sql()));
      if (!same || table.length() != written.length()) {
        throw new IllegalArgumentException(
            "Table "
                + name()
                + " has the columns ("
                + table.toDDL()
                + "), the query gives ("
                + written.toDDL()
                + "); CAST them, or drop and create the table again");
      }
    }
    NpyType type =
        chosen.fileType(schema, ArrayMetadata.of(written.fields()[schema.values()].metadata()));
    ElementType readBack = options.as() == null ? type.columnType() : options.as();
    if (readBack != schema.elementType()) {
      throw new IllegalArgumentException(
          "Option "
              + NpyOptions.DTYPE
              + " is "
              + type.numpyName()
              + ", which reads back as ARRAY<"
              + BlockSchema.sparkType(readBack).sql()
              + ">, and the table's column "
              + BlockKind.VALUES
              + " is ARRAY<"
              + BlockSchema.sparkType(schema.elementType()).sql()
              + ">; CAST the column");
    }
  }

  @Override
  public boolean equals(Object o) {
    return o instanceof NpyTable other
        && options.equals(other.options)
        && Objects.equals(given, other.given)
        && Objects.equals(layout, other.layout);
  }

  @Override
  public int hashCode() {
    return options.hashCode();
  }

  @Override
  public String toString() {
    return name();
  }

  /**
   * CREATE TABLE AS SELECT and INSERT append in Spark's words; both are right if no file is there.
   */
  private final class Builder implements WriteBuilder, SupportsTruncate {
    private final StructType written;
    private final NpyOptions chosen;
    private boolean replace;

    private Builder(StructType written, NpyOptions chosen) {
      this.written = written;
      this.chosen = chosen;
    }

    @Override
    public WriteBuilder truncate() {
      replace = true;
      return this;
    }

    @Override
    public Write build() {
      ErrorBoundary.PLANNING.run(() -> requireWritable(written, chosen));
      return new V1Write() {
        @Override
        public InsertableRelation toInsertableRelation() {
          return (data, overwrite) -> ErrorBoundary.PLANNING.run(() -> insert(data));
        }
      };
    }

    private void insert(Dataset<Row> data) {
      PosixTarget target = PosixTarget.of(options.path(), conf);
      if (target.exists() && !replace) {
        throw NpyDataSource.appended(options.path());
      }
      NpySink.write(data, chosen, target, replace);
    }
  }
}
