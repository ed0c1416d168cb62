package org.tilespark.spark.source.zarr;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tilespark.spark.source.IoReasons;
import org.tilespark.spark.source.KnownFormat;
import org.tilespark.spark.source.StorePaths;

/**
 * An array or a group of a store, found by its metadata. Directories are not listed: documents are
 * requested by their names.
 *
 * @param directory path of the node
 * @param array the array; empty for a group
 * @param attributes attributes of the node
 * @param stamp version of the metadata document that was read
 */
record ZarrNode(Path directory, Optional<ZarrArray> array, JsonNode attributes, Stamp stamp) {
  static final String VERSION_3 = "zarr.json";
  static final String ARRAY_2 = ".zarray";
  static final String GROUP_2 = ".zgroup";
  static final String ATTRIBUTES_2 = ".zattrs";
  static final String CONSOLIDATED_2 = ".zmetadata";

  /** The field of a group's document in version 3 that repeats those of all nodes below it. */
  static final String CONSOLIDATED_3 = "consolidated_metadata";

  /** The attribute of an array that has the distances between neighbours. */
  static final String SPACING = "spacing";

  /** Most bytes of a document: more than even the consolidated metadata of a store need. */
  private static final long MOST_BYTES = 64 << 20;

  private static final String MISSING_VALUE = "_FillValue";

  /** Longest text of attributes that a column's metadata keep, since each plan has a copy. */
  private static final int MOST_ATTRIBUTES = 256 << 10;

  private static final Logger LOG = LoggerFactory.getLogger(ZarrNode.class);

  /**
   * The version of a document that was read.
   *
   * @param file path of the document
   * @param modificationMillis time of the document's last write
   * @param bytes length of the document
   */
  record Stamp(String file, long modificationMillis, long bytes) implements Serializable {
    /** True if the document was not written since it was read. */
    boolean isCurrent(Configuration conf) throws IOException {
      Path path = new Path(file);
      FileStatus status = StorePaths.fileSystem(path, conf).getFileStatus(path);
      return status.getModificationTime() == modificationMillis && status.getLen() == bytes;
    }
  }

  /** A document and its content. */
  private record Document(Stamp stamp, JsonNode json) {}

  /**
   * Looks for a node.
   *
   * @param text path of the store, as the user wrote it
   * @param component path of the node in it, "" for the store's root
   * @return empty if the store's path does not exist
   * @throws IllegalArgumentException if something else is at the path, or metadata are not
   *     supported
   */
  static Optional<ZarrNode> find(String text, String component, Configuration conf) {
    try {
      Path root = StorePaths.qualify(text, conf);
      FileSystem store = StorePaths.fileSystem(root, conf);
      Path directory = component.isEmpty() ? root : new Path(root, component);
      Optional<ZarrNode> found = inOwnDocuments(store, directory);
      if (found.isPresent()) {
        return found;
      }
      if (!component.isEmpty()) {
        found = consolidated(store, root, component);
        if (found.isPresent()) {
          return found;
        }
      }
      if (!store.exists(root)) {
        return Optional.empty();
      }
      throw notZarr(store, root, component);
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot read " + text + ": " + IoReasons.reason(e), e);
    }
  }

  /** The array of a path inside of this group. */
  ZarrNode child(String path, Configuration conf) {
    return find(directory.toString(), path, conf)
        .orElseThrow(() -> new IllegalArgumentException("Path does not exist: " + directory));
  }

  private static Optional<ZarrNode> inOwnDocuments(FileSystem store, Path directory)
      throws IOException {
    Optional<Document> own = read(store, new Path(directory, VERSION_3));
    if (own.isPresent()) {
      return Optional.of(version3(directory, own.get().json, own.get().stamp));
    }
    Optional<Document> array = read(store, new Path(directory, ARRAY_2));
    Optional<Document> attributes = read(store, new Path(directory, ATTRIBUTES_2));
    JsonNode stated = attributes.map(Document::json).orElse(JsonNodeFactory.instance.objectNode());
    if (array.isPresent()) {
      return Optional.of(version2(directory, array.get().json, stated, array.get().stamp));
    }
    Optional<Document> group = read(store, new Path(directory, GROUP_2));
    return group
        .or(() -> attributes)
        .map(document -> new ZarrNode(directory, Optional.empty(), stated, document.stamp));
  }

  private static ZarrNode version3(Path directory, JsonNode json, Stamp stamp) {
    return named(
        stamp.file,
        () -> {
          String kind = Json.text(json, "node_type");
          JsonNode attributes =
              Json.has(json, "attributes")
                  ? json.get("attributes")
                  : JsonNodeFactory.instance.objectNode();
          return switch (kind) {
            case "array" ->
                new ZarrNode(directory, Optional.of(ZarrArray.ofVersion3(json)), attributes, stamp);
            case "group" -> new ZarrNode(directory, Optional.empty(), attributes, stamp);
            default ->
                throw new IllegalArgumentException(
                    "'node_type' is '%s'; expected array or group".formatted(kind));
          };
        });
  }

  private static ZarrNode version2(
      Path directory, JsonNode json, JsonNode attributes, Stamp stamp) {
    return named(
        stamp.file,
        () ->
            new ZarrNode(
                directory, Optional.of(ZarrArray.ofVersion2(json, attributes)), attributes, stamp));
  }

  /** The node in the consolidated metadata of the store's root. */
  private static Optional<ZarrNode> consolidated(FileSystem store, Path root, String component)
      throws IOException {
    Path directory = new Path(root, component);
    Optional<Document> document = read(store, new Path(root, VERSION_3));
    if (document.isPresent()) {
      JsonNode json = document.get().json.path(CONSOLIDATED_3).path("metadata");
      return Optional.ofNullable(json.get(component))
          .filter(JsonNode::isObject)
          .map(node -> version3(directory, node, document.get().stamp));
    }
    Optional<Document> all = read(store, new Path(root, CONSOLIDATED_2));
    if (all.isEmpty()) {
      return Optional.empty();
    }
    JsonNode json = all.get().json.path("metadata");
    JsonNode array = json.get(component + "/" + ARRAY_2);
    JsonNode attributes = json.path(component + "/" + ATTRIBUTES_2);
    JsonNode stated = attributes.isObject() ? attributes : JsonNodeFactory.instance.objectNode();
    if (array != null) {
      return Optional.of(version2(directory, array, stated, all.get().stamp));
    }
    return Optional.ofNullable(json.get(component + "/" + GROUP_2))
        .map(group -> new ZarrNode(directory, Optional.empty(), stated, all.get().stamp));
  }

  private static IllegalArgumentException notZarr(FileSystem store, Path root, String component)
      throws IOException {
    if (!store.getFileStatus(root).isDirectory()) {
      byte[] head;
      try (FSDataInputStream stream = store.open(root)) {
        head = stream.readNBytes(16);
      }
      return new IllegalArgumentException(
          "%s is a file; format zarr reads the directory of a store%s"
              .formatted(root, KnownFormat.of(head)));
    }
    if (component.isEmpty()) {
      return new IllegalArgumentException(
          "%s is no Zarr array or group: it has none of %s, %s, %s"
              .formatted(root, VERSION_3, ARRAY_2, GROUP_2));
    }
    List<String> known = new ArrayList<>();
    for (String name : List.of(VERSION_3, CONSOLIDATED_2)) {
      read(store, new Path(root, name))
          .map(
              document ->
                  name.equals(VERSION_3) ? document.json.path(CONSOLIDATED_3) : document.json)
          .map(json -> json.path("metadata"))
          .ifPresent(json -> json.fieldNames().forEachRemaining(known::add));
    }
    return new IllegalArgumentException(
        "%s has no array or group '%s'%s"
            .formatted(root, component, known.isEmpty() ? "" : "; it has " + known));
  }

  private static Optional<Document> read(FileSystem store, Path file) throws IOException {
    FileStatus status;
    try {
      status = store.getFileStatus(file);
    } catch (FileNotFoundException e) {
      return Optional.empty();
    }
    if (status.isDirectory()) {
      return Optional.empty();
    }
    StorePaths.requireLength(status);
    if (status.getLen() > MOST_BYTES) {
      throw new IllegalArgumentException(
          "%s has %s bytes; expected metadata of at most %s"
              .formatted(file, status.getLen(), MOST_BYTES));
    }
    byte[] bytes = new byte[(int) status.getLen()];
    try (FSDataInputStream stream = store.open(file)) {
      stream.readFully(0, bytes);
    } catch (FileNotFoundException e) {
      return Optional.empty();
    }
    Stamp stamp = new Stamp(file.toString(), status.getModificationTime(), status.getLen());
    return Optional.of(new Document(stamp, named(stamp.file, () -> Json.parse(bytes))));
  }

  /** Adds the document's name to error messages about it. */
  private static <T> T named(String file, java.util.function.Supplier<T> body) {
    try {
      return body.get();
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(file + ": " + e.getMessage(), e);
    }
  }

  /** The image in several scales that this group of OME-Zarr holds; empty if it is no image. */
  Optional<Multiscales> multiscales() {
    return named(stamp.file, () -> Multiscales.of(attributes));
  }

  /** The distances between neighbours that an array's attributes state; empty if they do not. */
  List<Double> spacing() {
    List<Double> spacing = new ArrayList<>();
    for (JsonNode number : attributes.path(SPACING)) {
      if (!number.isNumber() || !(number.doubleValue() > 0)) {
        return List.of(); // not an attribute of this meaning
      }
      spacing.add(number.doubleValue());
    }
    boolean fits = array.isPresent() && spacing.size() == array.get().shape().rank();
    return fits ? List.copyOf(spacing) : List.of();
  }

  /**
   * The documents of a node that are stored in a directory, by their names; in the order in which
   * they should be removed.
   */
  static List<String> documents(FileSystem store, Path directory) throws IOException {
    List<String> names = new ArrayList<>();
    for (String name : List.of(VERSION_3, ARRAY_2, GROUP_2, CONSOLIDATED_2, ATTRIBUTES_2)) {
      if (store.exists(new Path(directory, name))) {
        names.add(name);
      }
    }
    return names;
  }

  /** True if documents make an array or a group: only attributes may be left of a removed one. */
  static boolean isNode(List<String> documents) {
    return documents.stream().anyMatch(List.of(VERSION_3, ARRAY_2, GROUP_2)::contains);
  }

  /** True if the documents of a node are those of an array. */
  static boolean isArray(FileSystem store, Path directory) throws IOException {
    Optional<Document> own = read(store, new Path(directory, VERSION_3));
    return own.isPresent()
        ? own.get().json.path("node_type").asText().equals("array")
        : store.exists(new Path(directory, ARRAY_2));
  }

  /** The content of a document; an empty object if there is none. */
  static JsonNode json(FileSystem store, Path file) throws IOException {
    return read(store, file).map(Document::json).orElseGet(JsonNodeFactory.instance::objectNode);
  }

  /** True if the documents of a node are those of a group that is no image. */
  static boolean isPlainGroup(FileSystem store, Path directory) throws IOException {
    Optional<Document> own = read(store, new Path(directory, VERSION_3));
    if (own.isPresent()) {
      JsonNode json = own.get().json;
      return json.path("node_type").asText().equals("group")
          && !json.path("attributes").path("ome").has("multiscales");
    }
    if (store.exists(new Path(directory, ARRAY_2))) {
      return false;
    }
    Optional<Document> attributes = read(store, new Path(directory, ATTRIBUTES_2));
    return attributes.filter(document -> document.json.has("multiscales")).isEmpty();
  }

  /**
   * The user's attributes as a JSON object; "" if there are none, or very many. For xarray the fill
   * value of version 2 is the attribute {@value #MISSING_VALUE}, unless it is 0, as other programs
   * write it.
   */
  String userAttributes() {
    if (!(attributes instanceof ObjectNode all)) {
      return "";
    }
    ObjectNode own = all.deepCopy().without(List.of(ZarrArray.XARRAY_NAMES));
    if (!spacing().isEmpty()) {
      own.remove(SPACING);
    }
    FillValue fill = array.map(ZarrArray::fill).orElse(FillValue.ZERO);
    boolean isOfXarray = all.has(ZarrArray.XARRAY_NAMES) && !own.has(MISSING_VALUE);
    if (isOfXarray && fill.isStated() && !fill.equals(FillValue.ZERO)) {
      own.set(MISSING_VALUE, fill.json(array.orElseThrow().type()));
    }
    String text = own.isEmpty() ? "" : own.toString();
    if (text.length() > MOST_ATTRIBUTES) {
      LOG.warn(
          "{}: its attributes are left out, as their JSON has {} characters; at most {} are kept",
          stamp.file,
          text.length(),
          MOST_ATTRIBUTES);
      return "";
    }
    return text;
  }
}
