package org.tilespark.spark.source.zarr;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.tilespark.layout.Shape;
import org.tilespark.spark.numpy.NpyType;

/**
 * One array, as its metadata describe it. Immutable.
 *
 * @param shape extents of the array
 * @param type type of the array's elements
 * @param keys names of the array's chunks
 * @param fill the element that a missing chunk is full of
 * @param layout shape and codecs of a chunk
 * @param names name of each axis; "" for an axis without one
 */
record ZarrArray(
    Shape shape,
    NpyType type,
    ChunkKeys keys,
    FillValue fill,
    ChunkLayout layout,
    List<String> names)
    implements Serializable {
  private static final Set<String> FIELDS_OF_VERSION_3 =
      Set.of(
          "zarr_format",
          "node_type",
          "shape",
          "data_type",
          "chunk_grid",
          "chunk_key_encoding",
          "fill_value",
          "codecs",
          "attributes",
          "dimension_names",
          "storage_transformers");

  /** The attribute in which xarray stores the names of axes in version 2. */
  static final String XARRAY_NAMES = "_ARRAY_DIMENSIONS";

  /** Checks that chunks and names have the axes of the array, and that its bytes can be counted. */
  ZarrArray {
    names = List.copyOf(names);
    if (layout.shape().rank() != shape.rank()) {
      throw new IllegalArgumentException(
          "chunks of %s in an array of %s".formatted(layout.shape(), shape));
    }
    if (names.size() != shape.rank()) {
      throw new IllegalArgumentException("the names %s of the axes of %s".formatted(names, shape));
    }
    double bytes = type.elementBytes();
    for (int axis = 0; axis < shape.rank(); axis++) {
      bytes *= shape.extent(axis);
    }
    if (bytes >= Long.MAX_VALUE) {
      throw new IllegalArgumentException(
          "Shape %s of %s has more than 2^63 - 1 bytes".formatted(shape, type.numpyName()));
    }
  }

  /** This array with other names of its axes. */
  ZarrArray named(List<String> others) {
    return new ZarrArray(shape, type, keys, fill, layout, others);
  }

  /**
   * Reads {@code zarr.json}.
   *
   * @throws IllegalArgumentException if it does not describe an array, or has unsupported content
   */
  static ZarrArray ofVersion3(JsonNode json) {
    requireFormat(json, 3);
    requireUnderstood(json);
    Shape shape = Json.shape(json, "shape", 0);
    NpyType type = type(json.get("data_type"));
    JsonNode grid = Json.field(json, "chunk_grid");
    if (!Json.text(grid, "name").equals("regular")) {
      throw new IllegalArgumentException(
          "the chunk grid '%s'; expected regular".formatted(Json.text(grid, "name")));
    }
    Shape chunk = Json.shape(Json.field(grid, "configuration"), "chunk_shape", 1);
    requireRank(chunk, shape);
    JsonNode transformers = json.get("storage_transformers");
    if (transformers != null && !transformers.isNull() && !transformers.isEmpty()) {
      throw new IllegalArgumentException(
          "storage_transformers %s are not supported".formatted(Json.shown(transformers)));
    }
    List<String> names = Collections.nCopies(shape.rank(), "");
    JsonNode stated = json.get("dimension_names");
    if (stated != null && !stated.isNull()) {
      names = names(stated, "dimension_names");
    }
    return new ZarrArray(
        shape,
        type,
        keys(Json.field(json, "chunk_key_encoding")),
        FillValue.of(Json.field(json, "fill_value"), type),
        CodecChain.ofVersion3(Json.field(json, "codecs"), chunk, type),
        names);
  }

  /**
   * Reads {@code .zarray}.
   *
   * @param attributes the attributes of {@code .zattrs}; an empty object if there are none
   */
  static ZarrArray ofVersion2(JsonNode json, JsonNode attributes) {
    requireFormat(json, 2);
    Shape shape = Json.shape(json, "shape", 0);
    Shape chunk = Json.shape(json, "chunks", 1);
    requireRank(chunk, shape);
    JsonNode filters = json.get("filters");
    if (filters != null && !filters.isNull() && !filters.isEmpty()) {
      throw new IllegalArgumentException(
          "the filters %s are not supported; write the array without filters"
              .formatted(Json.shown(filters)));
    }
    JsonNode dtype = Json.field(json, "dtype");
    String descr = dtype.isTextual() ? dtype.textValue() : "";
    NpyType type = NpyType.ofDescr(descr);
    if (type == null) {
      throw unsupported(dtype, descr);
    }
    String order = Json.text(json, "order");
    if (!order.equals("C") && !order.equals("F")) {
      throw new IllegalArgumentException("'order' is '%s'; expected C or F".formatted(order));
    }
    JsonNode fill = json.get("fill_value");
    List<String> names = Collections.nCopies(shape.rank(), "");
    if (attributes.has(XARRAY_NAMES)) {
      names = names(attributes.get(XARRAY_NAMES), XARRAY_NAMES);
    }
    return new ZarrArray(
        shape,
        type,
        ChunkKeys.ofVersion2(separator(json, "dimension_separator", ".")),
        fill == null || fill.isNull() ? FillValue.NONE : FillValue.of(fill, type),
        CodecChain.ofVersion2(
            json.get("compressor"), chunk, type, descr.charAt(0) == '>', order.equals("F")),
        names);
  }

  private static void requireFormat(JsonNode json, int version) {
    JsonNode format = Json.field(json, "zarr_format");
    if (!format.isIntegralNumber() || format.intValue() != version) {
      throw new IllegalArgumentException(
          "'zarr_format' is %s; expected %s".formatted(Json.shown(format), version));
    }
  }

  /** Refuses fields that change the meaning of the array in unknown ways. */
  private static void requireUnderstood(JsonNode json) {
    for (Map.Entry<String, JsonNode> field : json.properties()) {
      JsonNode must = field.getValue().get("must_understand");
      boolean optional = must != null && must.isBoolean() && !must.booleanValue();
      if (!FIELDS_OF_VERSION_3.contains(field.getKey()) && !optional) {
        throw new IllegalArgumentException(
            ("the field '%s' is not known, and readers must understand it (it has no"
                    + " \"must_understand\": false)")
                .formatted(field.getKey()));
      }
    }
  }

  private static void requireRank(Shape chunk, Shape shape) {
    if (chunk.rank() != shape.rank()) {
      throw new IllegalArgumentException("chunks of %s in an array of %s".formatted(chunk, shape));
    }
  }

  private static NpyType type(JsonNode node) {
    String name = node != null && node.isTextual() ? node.textValue() : "";
    for (NpyType type : NpyType.values()) {
      if (type.numpyName().equals(name)) {
        return type;
      }
    }
    throw unsupported(node, name);
  }

  private static IllegalArgumentException unsupported(JsonNode found, String name) {
    String advice = NpyType.advice(name);
    return new IllegalArgumentException(
        "elements of type %s%s; expected one of %s"
            .formatted(
                Json.shown(found), advice.isEmpty() ? "" : " (" + advice + ")", NpyType.SUPPORTED));
  }

  private static ChunkKeys keys(JsonNode encoding) {
    String name = encoding.isTextual() ? encoding.textValue() : Json.text(encoding, "name");
    JsonNode configuration =
        Json.has(encoding, "configuration") ? encoding.get("configuration") : encoding;
    return switch (name) {
      case "default" -> ChunkKeys.ofDefault(separator(configuration, "separator", "/"));
      case "v2" -> ChunkKeys.ofVersion2(separator(configuration, "separator", "."));
      default ->
          throw new IllegalArgumentException(
              "the chunk_key_encoding '%s'; expected default or v2".formatted(name));
    };
  }

  private static String separator(JsonNode object, String name, String otherwise) {
    String separator = Json.text(object, name, otherwise);
    if (!separator.equals(".") && !separator.equals("/")) {
      throw new IllegalArgumentException(
          "'%s' is '%s'; expected '.' or '/'".formatted(name, separator));
    }
    return separator;
  }

  private static List<String> names(JsonNode node, String field) {
    List<String> names = new ArrayList<>();
    for (JsonNode name : node) {
      if (!name.isTextual() && !name.isNull()) {
        throw new IllegalArgumentException(
            "'%s' is %s; expected names".formatted(field, Json.shown(node)));
      }
      names.add(name.isNull() ? "" : name.textValue());
    }
    return names;
  }
}
