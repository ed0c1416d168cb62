package org.tilespark.spark.source;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.error.Suggestions;
import org.tilespark.spark.numpy.NpyType;

/** A user's options of a format, checked by name; names are matched without regard to case. */
public final class FormatOptions {
  /** The option that names the stored array. */
  public static final String PATH = "path";

  /** The option for the type of stored numbers. */
  public static final String DTYPE = "dtype";

  /** Keys of Spark's own among a user's options. */
  private static final List<String> SPARKS = List.of("checkpointLocation", "serialization.format");

  private final CaseInsensitiveStringMap options;
  private final String path;

  /**
   * Checks the names.
   *
   * @param format name of the format, for messages
   * @param stored the thing that a path names, for messages: {@code "file"}
   * @param names the format's options
   * @param options options of a user, or the properties of a catalog's table, which include the
   *     options
   * @throws IllegalArgumentException if there is not exactly one path, or an option is unknown
   */
  public FormatOptions(
      String format, String stored, List<String> names, CaseInsensitiveStringMap options) {
    this.options = options;
    this.path = options.get(PATH);
    if (options.containsKey("paths")) {
      throw new IllegalArgumentException(
          "format %s reads one %s, found several paths: %s; load each by itself and union the DataFrames"
              .formatted(format, stored, options.get("paths")));
    }
    if (path == null || path.isBlank()) {
      throw new IllegalArgumentException(
          ("format %s needs the path of one %s: load(path), save(path), the option path, or in"
                  + " SQL's CREATE TABLE a LOCATION")
              .formatted(format, stored));
    }
    requireKnown(format, names);
  }

  /**
   * The options of a single query, with the path of the table, and the table's {@link
   * BlockFormat#readOptions} that the query does not state.
   */
  public static CaseInsensitiveStringMap ofQuery(
      CaseInsensitiveStringMap query, BlockFormat table) {
    Map<String, String> options = new HashMap<>(query.asCaseSensitiveMap());
    options.keySet().removeIf(PATH::equalsIgnoreCase);
    options.put(PATH, table.path());
    table
        .readOptions()
        .forEach(
            (name, value) -> {
              if (value != null && query.getOrDefault(name, "").isBlank()) {
                options.keySet().removeIf(name::equalsIgnoreCase);
                options.put(name, value.toString());
              }
            });
    return new CaseInsensitiveStringMap(options);
  }

  /** The options that all formats read, as {@link BlockFormat#readOptions}; can be added to. */
  public static Map<String, Object> reading(Optional<String> blockShape, Optional<ElementType> as) {
    Map<String, Object> options = new LinkedHashMap<>();
    options.put(BlockFormat.BLOCK_SHAPE, blockShape.orElse(null));
    options.put(
        BlockFormat.AS,
        as.map(type -> type == ElementType.FLOAT32 ? "float" : "double").orElse(null));
    return options;
  }

  /**
   * Checks that written numbers will be read as a table's column has them.
   *
   * @param type type of the stored numbers
   * @param as the table's option {@code as}
   * @throws IllegalArgumentException if not
   */
  public static void requireReadBack(NpyType type, Optional<ElementType> as, BlockSchema blocks) {
    ElementType readBack = as.orElse(type.columnType());
    if (readBack != blocks.elementType()) {
      throw new IllegalArgumentException(
          ("Option %s is %s, which reads back as ARRAY<%s>, and the table's column %s"
                  + " is ARRAY<%s>; CAST the column")
              .formatted(
                  DTYPE,
                  type.numpyName(),
                  BlockSchema.sparkType(readBack).sql(),
                  BlockKind.VALUES,
                  BlockSchema.sparkType(blocks.elementType()).sql()));
    }
  }

  private void requireKnown(String format, List<String> names) {
    // Among a table's properties, our options have a prefix; others are ignored.
    boolean properties = options.containsKey(TableCatalog.PROP_PROVIDER);
    for (String key : options.asCaseSensitiveMap().keySet()) {
      boolean prefixed = key.startsWith(TableCatalog.OPTION_PREFIX);
      String name = prefixed ? key.substring(TableCatalog.OPTION_PREFIX.length()) : key;
      if (prefixed == properties
          && !name.startsWith("__") // set by other methods of DataFrameWriter
          && names.stream().noneMatch(name::equalsIgnoreCase)
          && SPARKS.stream().noneMatch(name::equalsIgnoreCase)) {
        throw new IllegalArgumentException(
            "format %s has no option %s, it has %s%s"
                .formatted(
                    format, name, String.join(", ", names), Suggestions.didYouMean(name, names)));
      }
    }
  }

  /** The path, as the user wrote it. */
  public String path() {
    return path;
  }

  /** An option's text, if it is given. */
  public Optional<String> given(String name) {
    return Optional.ofNullable(options.get(name));
  }

  /**
   * The type that values are converted to while reading, if it is given.
   *
   * @throws IllegalArgumentException if it is neither {@code float} nor {@code double}
   */
  public Optional<ElementType> as() {
    return given(BlockFormat.AS)
        .map(
            text ->
                switch (text.trim().toLowerCase(Locale.ROOT)) {
                  case "float" -> ElementType.FLOAT32;
                  case "double" -> ElementType.FLOAT64;
                  default ->
                      throw new IllegalArgumentException(
                          "Option %s is '%s'; expected 'float' or 'double'"
                              .formatted(BlockFormat.AS, text));
                });
  }
}
