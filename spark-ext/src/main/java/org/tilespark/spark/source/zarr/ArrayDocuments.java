package org.tilespark.spark.source.zarr;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.tilespark.layout.Shape;
import org.tilespark.spark.numpy.NpyType;
import org.tilespark.spark.source.codec.ByteCodec;
import org.tilespark.spark.source.codec.ByteEncoder;

/** Makes the metadata documents of an array that is written. Stateless. */
final class ArrayDocuments {
  private static final JsonNodeFactory JSON = JsonNodeFactory.instance;

  private ArrayDocuments() {}

  /**
   * The documents by their names, in the order in which they are written: the array exists once the
   * last one is written.
   *
   * @param attributes the user's attributes
   */
  static Map<String, byte[]> of(WrittenArray written, int version, JsonNode attributes) {
    ObjectNode all = JSON.objectNode();
    if (!written.spacing().isEmpty()) {
      ArrayNode spacing = all.putArray(ZarrNode.SPACING);
      written.spacing().forEach(spacing::add);
    }
    Map<String, byte[]> documents = new LinkedHashMap<>();
    boolean isNamed = written.array().names().stream().anyMatch(name -> !name.isEmpty());
    if (version == 2) {
      if (isNamed) {
        ArrayNode names = all.putArray(ZarrArray.XARRAY_NAMES);
        written.array().names().forEach(names::add);
      }
      all.setAll((ObjectNode) attributes);
      documents.put(ZarrNode.ATTRIBUTES_2, bytes(all));
      documents.put(ZarrNode.ARRAY_2, bytes(version2(written)));
      return documents;
    }
    ObjectNode json = version3(written);
    all.setAll((ObjectNode) attributes);
    json.set("attributes", all);
    if (isNamed) {
      ArrayNode names = json.putArray("dimension_names");
      written
          .array()
          .names()
          .forEach(name -> names.add(name.isEmpty() ? JSON.nullNode() : JSON.textNode(name)));
    }
    documents.put(ZarrNode.VERSION_3, bytes(json));
    return documents;
  }

  /** The document of a group without attributes. */
  static byte[] ofGroup(int version) {
    ObjectNode json = JSON.objectNode().put("zarr_format", version);
    if (version == 3) {
      json.put("node_type", "group").putObject("attributes");
    }
    return bytes(json);
  }

  static byte[] bytes(JsonNode json) {
    return json.toPrettyString().getBytes(StandardCharsets.UTF_8);
  }

  private static ObjectNode version3(WrittenArray written) {
    ZarrArray array = written.array();
    ObjectNode json = JSON.objectNode();
    json.put("zarr_format", 3).put("node_type", "array");
    json.set("shape", numbers(array.shape()));
    json.put("data_type", array.type().numpyName());
    json.putObject("chunk_grid")
        .put("name", "regular")
        .putObject("configuration")
        .set("chunk_shape", numbers(array.layout().shape()));
    json.putObject("chunk_key_encoding")
        .put("name", "default")
        .putObject("configuration")
        .put("separator", "/");
    json.set("fill_value", array.fill().json(array.type()));
    if (array.layout() instanceof ChunkLayout.Shard shard) {
      ObjectNode configuration = JSON.objectNode();
      configuration.set("chunk_shape", numbers(shard.leaf()));
      configuration.set("codecs", codecs(written, (ChunkLayout.Leaf) shard.inner()));
      ArrayNode index = configuration.putArray("index_codecs");
      index.add(codec("bytes", JSON.objectNode().put("endian", "little")));
      index.add(codec(ByteCodec.CRC32C.id(), null));
      configuration.put("index_location", "end");
      json.putArray("codecs").add(codec("sharding_indexed", configuration));
    } else {
      json.set("codecs", codecs(written, (ChunkLayout.Leaf) array.layout()));
    }
    json.putArray("storage_transformers");
    return json;
  }

  private static ArrayNode codecs(WrittenArray written, ChunkLayout.Leaf leaf) {
    ArrayNode codecs = JSON.arrayNode();
    if (!leaf.order().isIdentity()) {
      ObjectNode order = JSON.objectNode();
      ArrayNode axes = order.putArray("order");
      for (int axis : leaf.order().toArray()) {
        axes.add(axis);
      }
      codecs.add(codec("transpose", order));
    }
    boolean single = written.array().type().partBytes() == 1;
    codecs.add(codec("bytes", single ? null : JSON.objectNode().put("endian", "little")));
    for (ByteEncoder encoder : written.encoders()) {
      codecs.add(codec(encoder.codec().id(), configuration(encoder)));
    }
    return codecs;
  }

  private static ObjectNode codec(String name, ObjectNode configuration) {
    ObjectNode codec = JSON.objectNode().put("name", name);
    if (configuration != null) {
      codec.set("configuration", configuration);
    }
    return codec;
  }

  /** The settings of a codec in version 3; null if it has none. */
  private static ObjectNode configuration(ByteEncoder encoder) {
    return switch (encoder.codec()) {
      case ZSTD -> JSON.objectNode().put("level", encoder.level()).put("checksum", false);
      case GZIP -> JSON.objectNode().put("level", encoder.level());
      case BLOSC ->
          JSON.objectNode()
              .put("typesize", encoder.blosc().width())
              .put("cname", encoder.blosc().inner())
              .put("clevel", encoder.level())
              .put("shuffle", "shuffle")
              .put("blocksize", 0);
      case CRC32C -> null;
      case ZLIB, LZ4 -> throw new IllegalStateException(encoder.codec().id());
    };
  }

  private static ObjectNode version2(WrittenArray written) {
    ZarrArray array = written.array();
    NpyType type = array.type();
    ChunkLayout.Leaf leaf = (ChunkLayout.Leaf) array.layout();
    ObjectNode json = JSON.objectNode();
    json.put("zarr_format", 2);
    json.set("shape", numbers(array.shape()));
    json.set("chunks", numbers(leaf.shape()));
    json.put("dtype", type.descr());
    json.set("fill_value", array.fill().json(type));
    json.put("order", leaf.order().isIdentity() ? "C" : "F");
    json.putNull("filters");
    json.put("dimension_separator", ".");
    json.set("compressor", compressor(written.encoders()));
    return json;
  }

  private static JsonNode compressor(List<ByteEncoder> encoders) {
    if (encoders.isEmpty()) {
      return JSON.nullNode();
    }
    ByteEncoder encoder = encoders.get(0);
    ObjectNode json = JSON.objectNode().put("id", encoder.codec().id());
    return switch (encoder.codec()) {
      case BLOSC ->
          json.put("cname", encoder.blosc().inner())
              .put("clevel", encoder.level())
              .put("shuffle", 1)
              .put("blocksize", 0);
      case ZSTD, GZIP -> json.put("level", encoder.level());
      case CRC32C, ZLIB, LZ4 -> throw new IllegalStateException(encoder.codec().id());
    };
  }

  static ArrayNode numbers(Shape shape) {
    ArrayNode numbers = JSON.arrayNode();
    for (long extent : shape.toArray()) {
      numbers.add(extent);
    }
    return numbers;
  }
}
