package org.tilespark.spark.source.zarr;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;
import org.tilespark.spark.numpy.NpyType;
import org.tilespark.spark.source.codec.ByteCodec;

/** Reads the codecs that an array's metadata name. Stateless. */
final class CodecChain {
  /** Most levels of nested shards; in practice there are at most two. */
  private static final int MOST_NESTED = 8;

  /** Most codecs of one chunk, since each is a pass over its bytes. */
  private static final int MOST_CODECS = 16;

  /** Most bytes of a chunk, which is decoded into one buffer of the JDK. */
  private static final long MOST_CHUNK_BYTES = Integer.MAX_VALUE;

  private static final String SUPPORTED =
      "bytes, transpose, sharding_indexed, "
          + Arrays.stream(ByteCodec.values()).map(ByteCodec::id).collect(Collectors.joining(", "));

  /** The prefix with which zarr-python names codecs of numcodecs. */
  private static final String NUMCODECS = "numcodecs.";

  private CodecChain() {}

  /**
   * The layout of an array's chunks, from metadata of version 3.
   *
   * @param codecs list of the codecs in the metadata
   * @param chunk elements of a chunk along each axis of the array
   */
  static ChunkLayout ofVersion3(JsonNode codecs, Shape chunk, NpyType type) {
    return layout(codecs, chunk, Permutation.identity(chunk.rank()), type, 0);
  }

  /**
   * The layout of an array's chunks, from metadata of version 2.
   *
   * @param fortranOrder true if the first axis is the contiguous one
   */
  static ChunkLayout ofVersion2(
      JsonNode compressor, Shape chunk, NpyType type, boolean bigEndian, boolean fortranOrder) {
    List<ByteCodec> codecs = List.of();
    if (compressor != null && !compressor.isNull()) {
      codecs = List.of(byteCodec(Json.text(compressor, "id")));
    }
    int[] axes = new int[chunk.rank()];
    for (int i = 0; i < axes.length; i++) {
      axes[i] = fortranOrder ? axes.length - 1 - i : i;
    }
    requireBytes(chunk, type);
    return new ChunkLayout.Leaf(chunk, Permutation.of(axes), bigEndian, codecs);
  }

  /**
   * @param outer the order of axes before these codecs: axis i is the array's axis outer.axis(i)
   */
  private static ChunkLayout layout(
      JsonNode codecs, Shape chunk, Permutation outer, NpyType type, int depth) {
    if (!codecs.isArray() || codecs.isEmpty() || codecs.size() > MOST_CODECS) {
      throw new IllegalArgumentException(
          "'codecs' is %s; expected a list of 1 to %s".formatted(Json.shown(codecs), MOST_CODECS));
    }
    if (depth == MOST_NESTED) {
      throw new IllegalArgumentException("shards in shards, more than " + MOST_NESTED + " deep");
    }
    Permutation order = outer;
    int at = 0;
    while (at < codecs.size() && name(codecs.get(at)).equals("transpose")) {
      order = transposed(order, configuration(codecs.get(at)));
      at++;
    }
    if (at == codecs.size()) {
      throw new IllegalArgumentException("'codecs' has neither bytes nor sharding_indexed");
    }
    JsonNode toBytes = codecs.get(at);
    String name = name(toBytes);
    List<ByteCodec> after = new ArrayList<>();
    for (int i = at + 1; i < codecs.size(); i++) {
      after.add(byteCodec(name(codecs.get(i))));
    }
    if (name.equals("bytes")) {
      requireBytes(chunk, type);
      return new ChunkLayout.Leaf(
          chunk, order, isBigEndian(configuration(toBytes), type.partBytes()), List.copyOf(after));
    }
    if (!name.equals("sharding_indexed")) {
      throw unsupported(name);
    }
    if (!after.isEmpty()) {
      throw new IllegalArgumentException(
          "codec %s after sharding_indexed: shards are read in parts, and this one only as a whole"
              .formatted(after.get(0).id()));
    }
    return shard(configuration(toBytes), chunk, order, type, depth);
  }

  private static ChunkLayout shard(
      JsonNode configuration, Shape chunk, Permutation order, NpyType type, int depth) {
    Shape stored = Json.shape(configuration, "chunk_shape", 1); // in the order of the codec's axes
    if (stored.rank() != chunk.rank()) {
      throw new IllegalArgumentException(
          "sharding_indexed: chunk_shape %s in shards of %s".formatted(stored, chunk));
    }
    Shape inner = order.inverse().apply(stored);
    for (int axis = 0; axis < chunk.rank(); axis++) {
      if (chunk.extent(axis) % inner.extent(axis) != 0) {
        throw new IllegalArgumentException(
            "sharding_indexed: chunk_shape %s does not divide shards of %s"
                .formatted(inner, chunk));
      }
    }
    ChunkLayout layout = layout(Json.field(configuration, "codecs"), inner, order, type, depth + 1);
    String location = Json.text(configuration, "index_location", "end");
    if (!location.equals("end") && !location.equals("start")) {
      throw new IllegalArgumentException(
          "sharding_indexed: index_location '%s'; expected start or end".formatted(location));
    }
    return new ChunkLayout.Shard(
        chunk,
        order,
        layout,
        index(Json.field(configuration, "index_codecs"), location.equals("end")));
  }

  private static ChunkLayout.Index index(JsonNode codecs, boolean atEnd) {
    if (!codecs.isArray()
        || codecs.isEmpty()
        || codecs.size() > MOST_CODECS
        || !name(codecs.get(0)).equals("bytes")) {
      throw new IllegalArgumentException(
          "sharding_indexed: index_codecs %s; expected bytes, crc32c"
              .formatted(Json.shown(codecs)));
    }
    int checksums = 0;
    for (int i = 1; i < codecs.size(); i++) {
      if (byteCodec(name(codecs.get(i))) != ByteCodec.CRC32C) {
        throw new IllegalArgumentException(
            "sharding_indexed: index codec %s, which gives no fixed length; expected crc32c"
                .formatted(name(codecs.get(i))));
      }
      checksums++;
    }
    return new ChunkLayout.Index(
        atEnd, isBigEndian(configuration(codecs.get(0)), Long.BYTES), checksums);
  }

  private static Permutation transposed(Permutation order, JsonNode configuration) {
    JsonNode stated = Json.field(configuration, "order");
    int rank = order.rank();
    int[] axes = new int[rank];
    if (stated.isTextual()) { // as in early drafts of the specification
      boolean reversed = stated.textValue().equals("F");
      for (int i = 0; i < rank; i++) {
        axes[i] = order.axis(reversed ? rank - 1 - i : i);
      }
      if (!reversed && !stated.textValue().equals("C")) {
        throw new IllegalArgumentException("transpose: order " + stated);
      }
      return Permutation.of(axes);
    }
    Shape numbers = Json.shape(configuration, "order", 0);
    if (numbers.rank() != rank) {
      throw new IllegalArgumentException("transpose: order %s of %s axes".formatted(numbers, rank));
    }
    for (int i = 0; i < rank; i++) {
      if (numbers.extent(i) >= rank) {
        throw new IllegalArgumentException(
            "transpose: order %s has no axis %s".formatted(numbers, numbers.extent(i)));
      }
      axes[i] = order.axis((int) numbers.extent(i));
    }
    return Permutation.of(axes);
  }

  private static boolean isBigEndian(JsonNode configuration, int partBytes) {
    String endian = Json.text(configuration, "endian", partBytes == 1 ? "little" : "");
    return switch (endian) {
      case "little" -> false;
      case "big" -> true;
      default ->
          throw new IllegalArgumentException(
              "bytes: endian '%s'; expected little or big".formatted(endian));
    };
  }

  private static void requireBytes(Shape chunk, NpyType type) {
    double bytes = type.elementBytes();
    for (int axis = 0; axis < chunk.rank(); axis++) {
      bytes *= chunk.extent(axis);
    }
    if (bytes > MOST_CHUNK_BYTES) {
      throw new IllegalArgumentException(
          "chunks of %s of %s; a chunk must stay below 2 GiB, shards may be larger"
              .formatted(chunk, type.numpyName()));
    }
  }

  private static ByteCodec byteCodec(String name) {
    String id = name.startsWith(NUMCODECS) ? name.substring(NUMCODECS.length()) : name;
    for (ByteCodec codec : ByteCodec.values()) {
      if (codec.id().equals(id)) {
        return codec;
      }
    }
    throw unsupported(name);
  }

  private static IllegalArgumentException unsupported(String name) {
    return new IllegalArgumentException(
        "codec '%s' is not supported here; expected one of %s".formatted(name, SUPPORTED));
  }

  /** The name of a codec: without a configuration it may be a plain string. */
  private static String name(JsonNode codec) {
    return codec.isTextual() ? codec.textValue() : Json.text(codec, "name");
  }

  private static JsonNode configuration(JsonNode codec) {
    return Json.has(codec, "configuration")
        ? codec.get("configuration")
        : com.fasterxml.jackson.databind.node.JsonNodeFactory.instance.objectNode();
  }
}
