package org.tilespark.spark.source;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.Table;
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
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.GridCheck;
import org.tilespark.spark.block.StoredInBlocks;
import org.tilespark.spark.error.ErrorBoundary;
import org.tilespark.spark.error.ErrorCondition;
import org.tilespark.spark.error.InvalidInputException;

/**
 * One stored array as a table. It looks up the array when its columns are requested, so that it can
 * also represent an array that a write is about to create.
 *
 * <p>Tables of the same unchanged array with the same options are equal, so that Spark recognises
 * cached DataFrames.
 */
final class BlockTable implements SupportsRead, SupportsWrite, StoredInBlocks {
  private final BlockFormat format;
  private final StructType given;
  private final Configuration conf;
  private Optional<BlockSource> source = Optional.empty(); // empty until the array is looked up
  private boolean looked;

  /**
   * A table.
   *
   * @param given columns stated by the user, the catalog or the query to be written
   */
  BlockTable(BlockFormat format, StructType given, Configuration conf) {
    this.format = format;
    this.given = given;
    this.conf = conf;
  }

  @Override
  public String name() {
    return format.name() + " " + format.path();
  }

  @Override
  public Set<TableCapability> capabilities() {
    // No BATCH_WRITE: with it DataFrameWriter.save would refuse the modes errorIfExists and ignore.
    // ACCEPT_ANY_SCHEMA: otherwise Spark would replace the written columns' metadata by the
    // table's.
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

  /** The columns as a struct: Spark 4.0 declares no default for this method, newer ones do. */
  @Override
  @SuppressWarnings("deprecation") // Spark 4.0 has no other way to implement a table
  public StructType schema() {
    return ErrorBoundary.PLANNING.call(this::source).map(BlockSource::schema).orElse(given);
  }

  /** The stored array, if there is one yet. */
  private Optional<BlockSource> source() {
    if (!looked) {
      source = format.source(conf);
      source.ifPresent(found -> requireSame(given, found.schema()));
      looked = true;
    }
    return source;
  }

  /** True if the stored array is at a location or below it, also by symbolic links. */
  boolean isBelow(Path location) {
    return source()
        .filter(found -> directory(new Path(found.path())).startsWith(directory(location)))
        .isPresent();
  }

  private static String directory(Path path) {
    try {
      String text = StorePaths.real(path).toString();
      return text.endsWith("/") ? text : text + "/";
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot read " + path + ": " + IoReasons.reason(e), e);
    }
  }

  @Override
  public Optional<Shape> blockShape() {
    return source().map(found -> Shape.of(found.axes().own(found.grid().blockShape())));
  }

  @Override
  public boolean isIn(GridCheck tiling, Permutation axes) {
    return source()
        .map(BlockSource::grid)
        .filter(grid -> grid.rank() == axes.rank())
        .filter(
            grid ->
                tiling.isThatOf(
                    Shape.of(axes.apply(grid.extents())), Shape.of(axes.apply(grid.blockShape()))))
        .isPresent();
  }

  @Override
  public Optional<Table> inBlocks(Shape extents, Shape blockShape) {
    return source()
        .filter(found -> Shape.of(found.axes().own(found.grid().extents())).equals(extents))
        .flatMap(found -> found.inBlocks(blockShape))
        .map(
            found -> {
              BlockTable table = new BlockTable(format, given, conf);
              table.source = Optional.of(found);
              table.looked = true;
              return table;
            });
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
          "%s: the stated schema is (%s), the file's is (%s); leave the schema out%s"
              .formatted(
                  format.path(),
                  stated.toDDL(),
                  found.toDDL(),
                  format.readOptions().containsKey(BlockFormat.AS)
                      ? ", or convert with the option " + BlockFormat.AS
                      : ""));
    }
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap scanOptions) {
    return ErrorBoundary.PLANNING.call(() -> scanBuilder(scanOptions));
  }

  private SourceScanBuilder scanBuilder(CaseInsensitiveStringMap scanOptions) {
    BlockSource found =
        source()
            .orElseThrow(
                () ->
                    new InvalidInputException(
                        ErrorCondition.INVALID_FILE, "Path does not exist: " + format.path()));
    Map<String, Object> asked = format.overriddenBy(scanOptions).readOptions();
    Map<String, Object> stated = format.readOptions();
    List<String> differing =
        asked.keySet().stream()
            .filter(option -> !Objects.equals(asked.get(option), stated.get(option)))
            .toList();
    if (!differing.isEmpty()) {
      throw new IllegalArgumentException(
          "%s: a query asks for %s, the table has %s; its columns depend on that, so state it in"
                  .formatted(name(), options(asked, differing), options(stated, differing))
              + " CREATE TABLE ... OPTIONS, or read the file with spark.read().format(\""
              + format.name()
              + "\")");
    }
    return new SourceScanBuilder(found, conf);
  }

  /** Options with their values, for a message. */
  private static String options(Map<String, Object> values, List<String> names) {
    return names.stream()
        .map(name -> values.get(name) == null ? "no " + name : name + " " + values.get(name))
        .collect(Collectors.joining(" and "));
  }

  @Override
  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    return ErrorBoundary.PLANNING.call(
        () -> new Builder(info.schema(), format.overriddenBy(info.options())));
  }

  /** Checks that written data will be read with the columns in the catalog. */
  private void requireWritable(StructType written, BlockFormat chosen) {
    WrittenBlocks blocks = WrittenBlocks.of(written, chosen);
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
            ("Table %s has the columns (%s), the query gives (%s); CAST them, or drop"
                    + " and create the table again")
                .formatted(name(), table.toDDL(), written.toDDL()));
      }
    }
    chosen.requireReadBack(blocks.schema(), blocks.metadata());
  }

  @Override
  public boolean equals(Object o) {
    return o instanceof BlockTable other
        && format.equals(other.format)
        && Objects.equals(given, other.given)
        && Objects.equals(source, other.source);
  }

  @Override
  public int hashCode() {
    return format.hashCode();
  }

  @Override
  public String toString() {
    return name();
  }

  /**
   * Spark expresses CREATE TABLE AS SELECT and INSERT as appends; both are valid if no file exists.
   */
  private final class Builder implements WriteBuilder, SupportsTruncate {
    private final StructType written;
    private final BlockFormat chosen;
    private boolean replace;

    private Builder(StructType written, BlockFormat chosen) {
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
      BlockSink sink = chosen.sink(conf);
      if (sink.exists() && !replace) {
        throw BlockDataSource.appended(format);
      }
      BlockWrite.write(data, sink, replace);
    }
  }
}
