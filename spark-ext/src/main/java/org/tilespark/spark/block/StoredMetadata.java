package org.tilespark.spark.block;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.net.URI;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.parquet.HadoopReadOptions;
import org.apache.parquet.format.converter.ParquetMetadataConverter;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.util.HadoopInputFile;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreeNodeTag;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.catalyst.compat.Catalogs;
import org.tilespark.spark.error.ErrorBoundary;

/**
 * Known facts of an array in a table or in files: the column metadata of the relation, unless one
 * of the following overrides it.
 *
 * <ul>
 *   <li>The properties of the table, by the keys of the metadata: {@code tilespark.extents}, in the
 *       syntax of the option {@code extents}, and {@code tilespark.spectrum}, whose only value is
 *       {@code 'unknown'}.
 *   <li>For a spectrum in Parquet, the files: Spark takes the schema of one file, of the table, or
 *       of the user. Schema and files are reconciled like the branches of a union. If the schema
 *       states no facts of an array and the files state a spectrum, the files win.
 * </ul>
 */
final class StoredMetadata {
  private static final String SPARK_SCHEMA = "org.apache.spark.sql.parquet.row.metadata";
  private static final Set<String> OF_SPARK =
      Set.of("parquet", "orc", "csv", "json", "text", "avro", "xml", "hive", "binaryfile");
  private static final TreeNodeTag<Footers> FOOTERS = new TreeNodeTag<>("tilespark.footers");

  private StoredMetadata() {}

  /**
   * A leaf with the known metadata on its column {@code values}; empty if the column has it
   * already.
   *
   * @throws IllegalArgumentException if a property cannot be read; it has an error condition, as
   *     {@link ErrorBoundary} says
   */
  static Optional<LogicalPlan> reconciled(LogicalPlan leaf) {
    List<Attribute> columns = ScalaInterop.list(leaf.output());
    if (columns.stream().noneMatch(StoredMetadata::isValues)) {
      return Optional.empty();
    }
    Map<String, String> properties = properties(leaf);
    Map<ExprId, ArrayMetadata> said = new HashMap<>();
    List<String> names = columns.stream().map(Attribute::name).toList();
    for (Attribute column : columns) {
      ArrayMetadata own = ArrayMetadata.of(column.metadata());
      ArrayMetadata known =
          leaf instanceof LogicalRelation relation
                  && !properties.containsKey(ArrayMetadata.SPECTRUM)
                  && (isSpectrum(own) || (isValues(column) && own.saysNothing()))
              ? withFiles(relation, column.name(), own)
              : own;
      said.put(
          column.exprId(),
          isValues(column)
              ? ErrorBoundary.PLANNING.call(() -> stated(known, properties, names))
              : known);
    }
    return ReconcileMetadata.saying(leaf, said);
  }

  private static boolean isValues(Attribute column) {
    return column.name().equalsIgnoreCase(BlockKind.VALUES)
        && column.dataType() instanceof ArrayType;
  }

  private static boolean isSpectrum(ArrayMetadata known) {
    return known.toMetadata().contains(ArrayMetadata.SPECTRUM);
  }

  // ---- properties of tables

  /** The properties of the table that a leaf reads. */
  private static Map<String, String> properties(LogicalPlan leaf) {
    if (leaf instanceof LogicalRelation relation && relation.catalogTable().isDefined()) {
      CatalogTable table = relation.catalogTable().get();
      return relation.relation() instanceof HadoopFsRelation files && keepsProperties(table)
          ? loaded((SparkSession) files.sparkSession(), table)
          : ScalaInterop.javaMap(table.properties());
    }
    return leaf instanceof DataSourceV2Relation relation ? relation.table().properties() : Map.of();
  }

  /** True for formats that keep the properties of a table with its files, as Delta does. */
  private static boolean keepsProperties(CatalogTable table) {
    return table
        .provider()
        .exists(ScalaInterop.function(name -> !OF_SPARK.contains(name.toLowerCase(Locale.ROOT))));
  }

  private static Map<String, String> loaded(SparkSession session, CatalogTable table) {
    TableIdentifier name = table.identifier();
    try {
      String catalog = name.catalog().getOrElse(() -> "spark_catalog");
      return Catalogs.of(session, catalog) instanceof TableCatalog tables
          ? tables
              .loadTable(Identifier.of(new String[] {name.database().get()}, name.table()))
              .properties()
          : Map.of();
    } catch (AnalysisException e) {
      return Map.of(); // the reader of the table reports the defect
    }
  }

  /** The name of the table that a plan reads, for messages. */
  static String name(LogicalPlan plan) {
    LogicalPlan leaf = (LogicalPlan) plan.collectLeaves().head();
    if (leaf instanceof LogicalRelation relation && relation.catalogTable().isDefined()) {
      return relation.catalogTable().get().identifier().unquotedString();
    }
    return leaf instanceof DataSourceV2Relation relation ? relation.name() : "a table";
  }

  /**
   * The column's metadata, overridden by a table's properties.
   *
   * @param columns names of the table's columns, which distinguish matrices from volumes
   */
  static ArrayMetadata stated(
      ArrayMetadata known, Map<String, String> properties, List<String> columns) {
    ArrayMetadata stated = known;
    String extents = properties.get(ArrayMetadata.EXTENTS);
    if (extents != null) {
      int rank = rank(columns, extents);
      stated =
          stated
              .stating(
                  StatedExtents.parse("Table property " + ArrayMetadata.EXTENTS, extents, rank))
              .withoutBlockShape();
    }
    String spectrum = properties.get(ArrayMetadata.SPECTRUM);
    if (spectrum != null) {
      if (!spectrum.trim().toLowerCase(Locale.ROOT).equals(ArrayMetadata.UNKNOWN)) {
        throw new IllegalArgumentException(
            "Table property %s is '%s'; expected '%s', which forgets what the column metadata says"
                .formatted(ArrayMetadata.SPECTRUM, spectrum, ArrayMetadata.UNKNOWN));
      }
      stated = stated.withSpectrum(Optional.empty());
    }
    return stated;
  }

  /**
   * Count of axes of the blocks in a table's columns; if these are no block columns, the count of
   * the numbers in the stated extents.
   */
  private static int rank(List<String> columns, String extents) {
    Set<String> names =
        columns.stream().map(name -> name.toLowerCase(Locale.ROOT)).collect(Collectors.toSet());
    return Arrays.stream(BlockKind.values())
        .filter(kind -> names.containsAll(kind.offsetColumns()))
        .findFirst()
        .orElse(
            extents.split(",", -1).length == BlockKind.VOLUME.rank()
                ? BlockKind.VOLUME
                : BlockKind.MATRIX)
        .rank();
  }

  // ---- files

  /** Metadata of a column, as the schema of a relation and all of its files state it. */
  private static ArrayMetadata withFiles(
      LogicalRelation relation, String column, ArrayMetadata own) {
    if (!(relation.relation() instanceof HadoopFsRelation files)
        || files.fileFormat().getClass() != ParquetFileFormat.class) {
      return own;
    }
    List<String> paths = List.of(files.location().inputFiles());
    Footers footers = relation.getTagValue(FOOTERS).getOrElse(() -> null);
    if (footers == null || !footers.paths().equals(paths) || !footers.column().equals(column)) {
      footers = new Footers(paths, column, inFiles(files, paths, column, own.saysNothing()));
      relation.setTagValue(FOOTERS, footers);
    }
    Optional<ArrayMetadata> say = footers.say();
    if (own.saysNothing()) {
      return say.filter(StoredMetadata::isSpectrum).map(own::saying).orElse(own);
    }
    return say.map(all -> ArrayMetadata.agreed(List.of(own, all))).orElse(own);
  }

  /**
   * Metadata of a column in all files together ({@link ArrayMetadata#agreed}); empty if none can be
   * read.
   *
   * @param ifFirst true to read no other file if the first states no spectrum
   */
  private static Optional<ArrayMetadata> inFiles(
      HadoopFsRelation files, List<String> paths, String column, boolean ifFirst) {
    Configuration configuration =
        files.sparkSession().sessionState().newHadoopConfWithOptions(files.options());
    if (ifFirst
        && paths.stream()
            .findFirst()
            .flatMap(path -> inFile(path, column, configuration))
            .filter(StoredMetadata::isSpectrum)
            .isEmpty()) {
      return Optional.empty();
    }
    List<ArrayMetadata> all =
        paths.stream()
            .parallel()
            .flatMap(path -> inFile(path, column, configuration).stream())
            .toList();
    return all.isEmpty() ? Optional.empty() : Optional.of(ArrayMetadata.agreed(all));
  }

  /**
   * Metadata of a column in one file, without entries if Spark did not write the file. Empty if the
   * file is gone or is no Parquet, which the reader of its rows reports.
   */
  private static Optional<ArrayMetadata> inFile(
      String path, String column, Configuration configuration) {
    Path file = new Path(URI.create(path));
    String schema;
    try (ParquetFileReader reader =
        ParquetFileReader.open(
            HadoopInputFile.fromPath(file, configuration),
            HadoopReadOptions.builder(configuration, file)
                .withMetadataFilter(ParquetMetadataConverter.SKIP_ROW_GROUPS)
                .build())) {
      schema = reader.getFileMetaData().getKeyValueMetaData().get(SPARK_SCHEMA);
    } catch (FileNotFoundException e) {
      return Optional.empty();
    } catch (IOException e) {
      return Optional.of(ArrayMetadata.empty()); // the file's rows may be readable all the same
    } catch (RuntimeException e) {
      return Optional.empty();
    }
    return Optional.of(inSchema(schema, column));
  }

  private static ArrayMetadata inSchema(String schema, String column) {
    try {
      if (schema != null && DataType.fromJson(schema) instanceof StructType columns) {
        return Arrays.stream(columns.fields())
            .filter(field -> field.name().equalsIgnoreCase(column))
            .map(field -> ArrayMetadata.of(field.metadata()))
            .findFirst()
            .orElse(ArrayMetadata.empty());
      }
    } catch (RuntimeException e) {
      return ArrayMetadata.empty(); // Spark reads the file's columns without this metadata
    }
    return ArrayMetadata.empty();
  }

  /**
   * Cached metadata of a relation's files, so that they are read once for several queries.
   *
   * @param paths paths of the files
   * @param column name of the column
   * @param say metadata of the column that the files state; empty if unknown
   */
  private record Footers(List<String> paths, String column, Optional<ArrayMetadata> say) {}
}
