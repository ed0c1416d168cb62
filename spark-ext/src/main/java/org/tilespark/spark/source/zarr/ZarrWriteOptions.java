package org.tilespark.spark.source.zarr;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayAxes;
import org.tilespark.spark.numpy.NpyType;
import org.tilespark.spark.source.BlockFormat;
import org.tilespark.spark.source.FormatOptions;
import org.tilespark.spark.source.codec.ByteCodec;
import org.tilespark.spark.source.codec.ByteEncoder;

/**
 * The options of {@code format("zarr")} that say how an array is written; {@link ZarrOptions} lists
 * them. Immutable.
 *
 * @param given texts of the options, by their names
 */
record ZarrWriteOptions(Map<String, String> given) {
  static final String VERSION = "version";
  static final String CHUNKS = "chunks";
  static final String SHARDS = "shards";
  static final String DTYPE = FormatOptions.DTYPE;
  static final String COMPRESSOR = "compressor";
  static final String COMPRESSION_LEVEL = "compressionLevel";
  static final String CHECKSUM = "checksum";
  static final String ORDER = "order";
  static final String FILL_VALUE = "fill_value";
  static final String DIMENSION_NAMES = "dimension_names";
  static final String SPACING = "spacing";
  static final String ATTRIBUTES = "attributes";
  static final String DOWNSAMPLE = "downsample";
  static final String DOWNSAMPLE_METHOD = "downsampleMethod";

  static final List<String> NAMES =
      List.of(
          BlockFormat.EXTENTS,
          VERSION,
          CHUNKS,
          SHARDS,
          DTYPE,
          COMPRESSOR,
          COMPRESSION_LEVEL,
          CHECKSUM,
          ORDER,
          FILL_VALUE,
          DIMENSION_NAMES,
          SPACING,
          ATTRIBUTES,
          DOWNSAMPLE,
          DOWNSAMPLE_METHOD);

  /** Default level of gzip and Blosc, as in zarr-python. */
  private static final int USUAL_LEVEL = 5;

  /** Copies the texts. */
  ZarrWriteOptions {
    given = Map.copyOf(given);
  }

  /** The options of writing among a user's options. */
  static ZarrWriteOptions of(FormatOptions options) {
    Map<String, String> given = new TreeMap<>();
    for (String name : NAMES) {
      options.given(name).ifPresent(text -> given.put(name, text.trim()));
    }
    ZarrWriteOptions parsed = new ZarrWriteOptions(given);
    parsed.version();
    parsed.type();
    parsed.encoders(1);
    parsed.isFortranOrder();
    parsed.attributes();
    parsed.takesFirst();
    return parsed;
  }

  /** These options with those that a single query states in place of their own. */
  ZarrWriteOptions overriddenBy(ZarrWriteOptions query) {
    Map<String, String> both = new TreeMap<>(given);
    both.putAll(query.given);
    return new ZarrWriteOptions(both);
  }

  /**
   * These options for an array in a group of a version, which is then that of the array.
   *
   * @throws IllegalArgumentException if they state another version
   */
  ZarrWriteOptions inVersionOfGroup(int version) {
    if (given.containsKey(VERSION) && version() != version) {
      throw wrong(
          VERSION, given.get(VERSION), version + ", that of the group that holds the array");
    }
    Map<String, String> all = new TreeMap<>(given);
    all.put(VERSION, Integer.toString(version));
    return new ZarrWriteOptions(all);
  }

  private Optional<String> text(String name) {
    return Optional.ofNullable(given.get(name));
  }

  private static IllegalArgumentException wrong(String name, String text, String expected) {
    return new IllegalArgumentException(
        "Option %s is '%s'; expected %s".formatted(name, text, expected));
  }

  private String choice(String name, String usual, String... all) {
    String text = text(name).map(given -> given.toLowerCase(Locale.ROOT)).orElse(usual);
    if (!List.of(all).contains(text)) {
      throw wrong(name, text, String.join(" or ", all));
    }
    return text;
  }

  /** Version of Zarr, 2 or 3. */
  int version() {
    return Integer.parseInt(choice(VERSION, "3", "3", "2"));
  }

  /** The array's type, if the options give it. */
  Optional<NpyType> type() {
    return text(DTYPE).map(text -> NpyType.parse("Option " + DTYPE, text));
  }

  /** True if the array has one axis: a matrix of one row is written as a vector. */
  boolean isVector() {
    return text(BlockFormat.EXTENTS).filter(text -> !text.contains(",")).isPresent();
  }

  /** The text of an option with a value for each axis of the blocks; a vector's have one more. */
  private Optional<String> perAxis(String name, String ofRow) {
    return text(name).map(text -> isVector() ? ofRow + "," + text : text);
  }

  /** Extents of the whole array, if given; of a vector, those of its matrix. */
  Optional<Shape> extents(int rank) {
    return perAxis(BlockFormat.EXTENTS, "1")
        .map(text -> Shape.parse("Option " + BlockFormat.EXTENTS, text, rank));
  }

  /** Elements along each axis of a chunk, if given. */
  Optional<Shape> chunks(ArrayAxes axes) {
    return shape(CHUNKS, axes);
  }

  /** Elements along each axis of a shard, if given. */
  Optional<Shape> shards(ArrayAxes axes) {
    Optional<Shape> shards = shape(SHARDS, axes);
    if (shards.isPresent() && version() == 2) {
      throw wrong(SHARDS, text(SHARDS).orElseThrow(), "none for version 2, which has no shards");
    }
    return shards;
  }

  /** A shape; leading axes may be left out, then it is 1 along them. */
  private Optional<Shape> shape(String name, ArrayAxes axes) {
    return perAxis(name, "1").map(text -> shape(name, text, axes));
  }

  private static Shape shape(String name, String text, ArrayAxes axes) {
    int count = text.split(",", -1).length;
    boolean isOwn = count == axes.kind().rank();
    if (!isOwn && count != axes.rank()) {
      throw wrong(name, text, axes.rank() + " whole numbers of 1 or more");
    }
    Shape parsed = Shape.parse("Option " + name, text, isOwn ? axes.kind().rank() : axes.rank());
    Shape shape = isOwn ? Shape.of(axes.withLeadingOnes(parsed.toArray())) : parsed;
    for (int axis = 0; axis < axes.rank(); axis++) {
      if (shape.extent(axis) < 1) {
        throw wrong(name, text, "whole numbers of 1 or more");
      }
      boolean isFactor = name.equals(DOWNSAMPLE);
      if (isFactor && axis < axes.leading().size() && shape.extent(axis) > 1) {
        throw wrong(name, text, "1 along " + axes.leading().get(axis));
      }
    }
    return shape;
  }

  /** True if the first axis is the contiguous one in a chunk. */
  boolean isFortranOrder() {
    return choice(ORDER, "c", "c", "f").equals("f");
  }

  /**
   * The codecs of a chunk's bytes.
   *
   * @param width bytes of an element
   */
  List<ByteEncoder> encoders(int width) {
    String name = choice(COMPRESSOR, "zstd", "zstd", "gzip", "blosc-lz4", "blosc-zstd", "none");
    int level = level(name.equals("zstd") ? 0 : USUAL_LEVEL);
    List<ByteEncoder> encoders = new ArrayList<>();
    try {
      switch (name) {
        case "zstd" -> encoders.add(new ByteEncoder(ByteCodec.ZSTD, level, null));
        case "gzip" -> encoders.add(new ByteEncoder(ByteCodec.GZIP, level, null));
        case "none" -> requireNoLevel();
        default -> {
          String inner = name.substring(name.indexOf('-') + 1);
          var blosc = new ByteEncoder.BloscSettings(inner, width);
          encoders.add(new ByteEncoder(ByteCodec.BLOSC, level, blosc));
        }
      }
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException("Option " + COMPRESSION_LEVEL + ": " + e.getMessage(), e);
    }
    if (choice(CHECKSUM, "false", "true", "false").equals("true")) {
      if (version() == 2) {
        throw wrong(CHECKSUM, "true", "false for version 2, which has no codec crc32c");
      }
      encoders.add(ByteEncoder.CHECKSUM);
    }
    return List.copyOf(encoders);
  }

  private int level(int usual) {
    String text = text(COMPRESSION_LEVEL).orElse(Integer.toString(usual));
    if (!text.matches("\\d{1,4}")) {
      throw wrong(COMPRESSION_LEVEL, text, "a whole number, such as 3");
    }
    return Integer.parseInt(text);
  }

  private void requireNoLevel() {
    if (given.containsKey(COMPRESSION_LEVEL)) {
      throw new IllegalArgumentException("there is no " + COMPRESSOR + " to have a level");
    }
  }

  /**
   * The fill value as metadata state it, if given. Without it, that of arrays of version 2 whose
   * axes have names is none, since xarray takes an element equal to it for a missing value.
   *
   * @throws IllegalArgumentException if it is no element of the type
   */
  Optional<FillValue> fill(NpyType type) {
    return text(FILL_VALUE)
        .map(
            text -> {
              if (text.equals("null") && version() == 2) {
                return FillValue.NONE;
              }
              try {
                return FillValue.of(Json.value(asInMetadata(text)), type);
              } catch (IllegalArgumentException e) {
                throw wrong(FILL_VALUE, text, "an element of " + type.numpyName());
              }
            });
  }

  /**
   * A fill value; NaN and infinity, which numpy writes in other letters, as metadata state them.
   */
  private static String asInMetadata(String text) {
    return switch (text.toLowerCase(Locale.ROOT)) {
      case "nan" -> "\"NaN\"";
      case "inf", "infinity" -> "\"Infinity\"";
      case "-inf", "-infinity" -> "\"-Infinity\"";
      default -> text;
    };
  }

  /** The names of the axes, if given; "" for an axis without a name. */
  Optional<List<String>> names(int rank) {
    return text(DIMENSION_NAMES)
        .map(
            text -> {
              int stated = isVector() ? rank - 1 : rank;
              List<String> names =
                  text.startsWith("[") ? namesInJson(text) : List.of(text.split("\\s*,\\s*", -1));
              if (names.size() != stated) {
                throw wrongNames(text, stated);
              }
              return isVector() ? Stream.concat(Stream.of(""), names.stream()).toList() : names;
            });
  }

  /** The texts of a JSON array, "" for null; empty if the text is something else. */
  private static List<String> namesInJson(String text) {
    JsonNode json = Json.value(text);
    List<String> names = new ArrayList<>();
    for (JsonNode name : json) {
      if (!name.isTextual() && !name.isNull()) {
        return List.of();
      }
      names.add(name.isNull() ? "" : name.textValue());
    }
    return names;
  }

  private static IllegalArgumentException wrongNames(String text, int stated) {
    String count = stated == 1 ? "1 name, or a" : stated + " names separated by commas, or a";
    return wrong(DIMENSION_NAMES, text, count + " JSON array of texts and nulls");
  }

  /** Distances between neighbouring elements along each axis, if given. */
  Optional<List<Double>> spacing(int rank) {
    return perAxis(SPACING, "1")
        .map(
            text -> {
              List<Double> spacing = new ArrayList<>();
              for (String number : text.split(",", -1)) {
                try {
                  spacing.add(Double.parseDouble(number.trim()));
                } catch (NumberFormatException e) {
                  throw wrong(SPACING, text, rank + " numbers separated by commas");
                }
              }
              boolean fits =
                  spacing.stream().allMatch(each -> each > 0 && each <= Double.MAX_VALUE);
              if (spacing.size() != rank || !fits) {
                throw wrong(SPACING, text, rank + " finite numbers above 0");
              }
              return List.copyOf(spacing);
            });
  }

  /** The user's attributes, a JSON object. */
  JsonNode attributes() {
    String text = text(ATTRIBUTES).orElse("{}");
    try {
      return Json.parse(text.getBytes(StandardCharsets.UTF_8));
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException("Option " + ATTRIBUTES + ": " + e.getMessage(), e);
    }
  }

  /** Elements along each axis that become one in the next scale of an image, if given. */
  Optional<Shape> downsample(ArrayAxes axes) {
    if (isVector() && given.containsKey(DOWNSAMPLE)) {
      throw wrong(DOWNSAMPLE, given.get(DOWNSAMPLE), "an array of 2 axes or more");
    }
    Optional<Shape> factors = shape(DOWNSAMPLE, axes);
    if (factors.isPresent() && factors.get().elements() == 1) {
      throw wrong(DOWNSAMPLE, text(DOWNSAMPLE).orElseThrow(), "a factor above 1, such as 2,2,2");
    }
    if (factors.isPresent() && version() == 2) {
      throw wrong(VERSION, "2", "3 for an image of OME-Zarr 0.5, which " + DOWNSAMPLE + " makes");
    }
    return factors;
  }

  /**
   * True if an element of a coarser scale is the first of the elements that it replaces, false if
   * it is their mean.
   */
  boolean takesFirst() {
    return choice(DOWNSAMPLE_METHOD, "mean", "mean", "nearest").equals("nearest");
  }
}
