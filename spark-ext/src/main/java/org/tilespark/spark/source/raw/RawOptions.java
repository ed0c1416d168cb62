package org.tilespark.spark.source.raw;

import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.numpy.NpyType;
import org.tilespark.spark.source.AxisLabels;
import org.tilespark.spark.source.BlockFormat;
import org.tilespark.spark.source.BlockSource;
import org.tilespark.spark.source.FormatOptions;
import org.tilespark.spark.source.contiguous.ContiguousArray;
import org.tilespark.spark.source.contiguous.ContiguousSource;
import org.tilespark.spark.source.contiguous.StoredFile;

/**
 * The options of {@code format("raw")}; names are matched without regard to case.
 *
 * <table>
 *   <caption>Options</caption>
 *   <tr><td>{@code path}</td><td>the one file</td></tr>
 *   <tr><td>{@code shape}</td><td>extents of the array, {@code "512,512,300"}; needed</td></tr>
 *   <tr><td>{@code dtype}</td><td>type of the numbers, {@code "uint16"}, or with a byte order {@code
 *     ">u2"}; needed</td></tr>
 *   <tr><td>{@code offset}</td><td>bytes before the numbers, for example of a header; by default
 *     0</td></tr>
 *   <tr><td>{@code order}</td><td>{@code C} (default): the last axis is contiguous; {@code F}: the
 *     first one</td></tr>
 *   <tr><td>{@code blockShape}, {@code as}</td><td>as those of {@code format("npy")}</td></tr>
 * </table>
 *
 * @param path the file, as the user wrote it
 * @param shape extents of the array
 * @param type type of the numbers
 * @param bigEndian true if the numbers' first byte is the highest
 * @param offset bytes before the numbers
 * @param firstAxisFastest true if the first axis is contiguous
 * @param blockShape elements along each axis of a block, if given
 * @param as type to which values are converted, if given
 */
record RawOptions(
    String path,
    Shape shape,
    NpyType type,
    boolean bigEndian,
    long offset,
    boolean firstAxisFastest,
    Optional<String> blockShape,
    Optional<ElementType> as)
    implements BlockFormat {
  private static final String SHAPE = "shape";
  private static final String DTYPE = FormatOptions.DTYPE;
  private static final String OFFSET = "offset";
  private static final String ORDER = "order";

  private static final List<String> NAMES =
      List.of(FormatOptions.PATH, SHAPE, DTYPE, OFFSET, ORDER, BLOCK_SHAPE, AS);

  /**
   * Reads the options.
   *
   * @throws IllegalArgumentException if one is unknown, wrong or missing
   */
  static RawOptions of(CaseInsensitiveStringMap options) {
    FormatOptions given = new FormatOptions(RawDataSource.FORMAT, "file", NAMES, options);
    String dtype = needed(given, DTYPE, "uint16, or '>u2' for big-endian numbers");
    return new RawOptions(
        given.path(),
        shape(needed(given, SHAPE, "512,512,300")),
        NpyType.parse("Option " + DTYPE, dtype),
        dtype.trim().startsWith(">"),
        given.given(OFFSET).map(RawOptions::offset).orElse(0L),
        given.given(ORDER).map(RawOptions::isFortran).orElse(false),
        given.given(BLOCK_SHAPE),
        given.as());
  }

  private static String needed(FormatOptions options, String name, String example) {
    return options
        .given(name)
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    "format %s needs the option %s, such as %s: the file does not say it"
                        .formatted(RawDataSource.FORMAT, name, example)));
  }

  private static Shape shape(String text) {
    Shape shape = Shape.parse("Option " + SHAPE, text, text.split(",", -1).length);
    if (shape.rank() < 2) {
      throw new IllegalArgumentException(
          "Option %s is '%s'; expected two extents or more, for a vector 1,%s"
              .formatted(SHAPE, text, text.trim()));
    }
    return shape;
  }

  private static long offset(String text) {
    if (!text.trim().matches("\\d{1,18}")) {
      throw new IllegalArgumentException(
          "Option %s is '%s'; expected a number of bytes".formatted(OFFSET, text));
    }
    return Long.parseLong(text.trim());
  }

  private static boolean isFortran(String text) {
    return switch (text.trim().toUpperCase(Locale.ROOT)) {
      case "C" -> false;
      case "F" -> true;
      default ->
          throw new IllegalArgumentException(
              "Option %s is '%s'; expected C or F".formatted(ORDER, text));
    };
  }

  @Override
  public RawOptions overriddenBy(CaseInsensitiveStringMap query) {
    return of(FormatOptions.ofQuery(query, this));
  }

  @Override
  public String name() {
    return RawDataSource.FORMAT;
  }

  @Override
  public String holds() {
    return "a raw file holds one array";
  }

  @Override
  public Map<String, Object> readOptions() {
    Map<String, Object> options = FormatOptions.reading(blockShape, as);
    options.put(SHAPE, shape.text());
    options.put(DTYPE, (bigEndian ? ">" : "<") + type.descr().substring(1));
    options.put(OFFSET, offset);
    options.put(ORDER, firstAxisFastest ? "F" : "C");
    return options;
  }

  @Override
  public Optional<BlockSource> source(Configuration conf) {
    if (shape.rank() > 3 && firstAxisFastest) {
      throw new IllegalArgumentException(
          "Options %s and %s: %s axes in Fortran order; expected order C, or at most 3 axes. The shape in reverse, in order C, reads the same file with its axes in reverse"
              .formatted(SHAPE, ORDER, shape.rank()));
    }
    ContiguousArray array =
        new ContiguousArray(
            shape, type, bigEndian, firstAxisFastest, offset, ContiguousArray.Scaling.NONE);
    return StoredFile.find(path, name(), conf, (file, first) -> checked(file, array))
        .map(found -> ContiguousSource.of(name(), found, array, AxisLabels.NONE, blockShape, as));
  }

  /** The file, which is not compressed if it has just the expected length. */
  private static StoredFile checked(StoredFile file, ContiguousArray array) {
    if (file.bytes() == array.fileBytes()) {
      return file.plain();
    }
    if (file.isGzip()) {
      return file;
    }
    throw new IllegalArgumentException(
        "expected %s bytes (%s of option %s, then %s of %s), found %s"
            .formatted(
                array.fileBytes(),
                array.dataOffset(),
                OFFSET,
                array.shape(),
                array.type().numpyName(),
                file.bytes()));
  }
}
