package org.tilespark.spark.source.zarr;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.file.FileAlreadyExistsException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.util.SerializableConfiguration;
import org.tilespark.layout.Shape;
import org.tilespark.spark.numpy.NpyEncoder;
import org.tilespark.spark.source.BlockColumns;
import org.tilespark.spark.source.BlockSink;
import org.tilespark.spark.source.ChunkGrid;
import org.tilespark.spark.source.IoReasons;
import org.tilespark.spark.source.StorePaths;
import org.tilespark.spark.source.StoredObjects;
import org.tilespark.spark.source.WrittenBlocks;

/**
 * Writes one array: tasks write chunks or shards, and the driver writes the metadata last, which
 * makes the array exist. A replaced array is removed first, its metadata before its chunks.
 *
 * @param options options of the user
 * @param directory directory of the array
 * @param parents groups above the array
 * @param conf configuration of Hadoop
 */
record ZarrSink(ZarrOptions options, Path directory, ParentGroups parents, Configuration conf)
    implements BlockSink {
  /** The group of an image of OME-Zarr that holds images of labels. */
  private static final String LABELS = "labels";

  /**
   * The sink of the options.
   *
   * @throws IllegalArgumentException if a file has the directory's name, an array is above it, or
   *     the groups above it are of another version than the options state
   */
  static ZarrSink of(ZarrOptions options, Configuration conf) {
    try {
      Path root = StorePaths.qualify(options.path(), conf);
      Path directory = options.component().isEmpty() ? root : new Path(root, options.component());
      if (isFile(directory, conf)) {
        throw new IllegalArgumentException(
            "%s is a file; format zarr writes a directory, name another path".formatted(directory));
      }
      ParentGroups parents = ParentGroups.of(directory, options.component(), conf);
      ZarrOptions all =
          parents.version().isPresent()
              ? options.inVersionOfGroup(parents.version().getAsInt())
              : options;
      return new ZarrSink(all, directory, parents, conf);
    } catch (IOException e) {
      throw new UncheckedIOException(
          "Cannot write " + options.path() + ": " + IoReasons.reason(e), e);
    }
  }

  private static boolean isFile(Path directory, Configuration conf) throws IOException {
    try {
      return !StorePaths.fileSystem(directory, conf).getFileStatus(directory).isDirectory();
    } catch (FileNotFoundException e) {
      return false;
    }
  }

  @Override
  public ZarrOptions format() {
    return options;
  }

  @Override
  public URI location() {
    return directory.toUri();
  }

  /** True if an array or a group exists; chunks without metadata do not count. */
  @Override
  public boolean exists() {
    try {
      FileSystem store = StorePaths.fileSystem(directory, conf);
      return ZarrNode.isNode(ZarrNode.documents(store, directory));
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot read " + directory + ": " + IoReasons.reason(e), e);
    }
  }

  @Override
  public Optional<Shape> statedExtents(int rank) {
    return options.writing().extents(rank);
  }

  @Override
  public void check(WrittenBlocks blocks) {
    WrittenArray.of(options.writing(), blocks, Shape.of(new long[blocks.rank()]));
    options.writing().downsample(blocks.axes());
  }

  @Override
  public Optional<Shape> wholeParts(WrittenBlocks blocks, Shape extents) {
    WrittenArray written = WrittenArray.of(options.writing(), blocks, extents);
    return Optional.of(written.view().blockAxes(written.array().layout().shape()));
  }

  @Override
  public boolean removesFirst() {
    return true;
  }

  @Override
  public Pending begin(WrittenBlocks blocks, Extents array, boolean replace) throws IOException {
    WrittenArray finest = WrittenArray.of(options.writing(), blocks, array.shape());
    Optional<Pyramid> image =
        options
            .writing()
            .downsample(blocks.axes())
            .map(factors -> Pyramid.of(finest, factors, options.writing().takesFirst()));
    WrittenArray written = image.map(pyramid -> pyramid.levels().get(0)).orElse(finest);
    boolean restored = options.writing().type().isEmpty();
    NpyEncoder encoder =
        new NpyEncoder(blocks.schema().elementType(), written.array().type(), restored);
    BlockColumns columns = new BlockColumns(blocks, encoder, array.shape(), array.source());
    FileSystem store = StorePaths.fileSystem(directory, conf);
    parents.requireNoWrite(directory);
    boolean isNew = !store.exists(directory);
    Scratch scratch = Scratch.in(directory, store, conf);
    boolean removed;
    try {
      parents.removeConsolidated(store, new StoredObjects(conf));
      removed = replace && remove(store, scratch);
      if (!isNew && !removed) {
        removeLeftovers(store, arrays(finest, image), scratch);
      }
    } catch (IOException | RuntimeException e) {
      scratch.close();
      if (isNew) {
        store.delete(directory, true);
      }
      throw e;
    }
    boolean isClean = isNew || removed;
    return new Unfinished(
        this,
        new ZarrTarget(
            (image.isPresent() ? Pyramid.directory(directory, 0) : directory).toString(),
            scratch.place(),
            isClean,
            written,
            columns,
            new SerializableConfiguration(conf)),
        scratch,
        image,
        removed);
  }

  /**
   * Removes what a killed write left: metadata of the arrays that are written, so that no reader
   * finds old and new chunks under them, and chunks that these arrays do not have. Does nothing
   * without the sign of a killed write: then files are the user's.
   *
   * @throws IllegalArgumentException if there is an array of the user's that would be replaced
   */
  private void removeLeftovers(FileSystem store, Map<Path, ZarrArray> arrays, Scratch scratch)
      throws IOException {
    StoredObjects objects = new StoredObjects(conf);
    for (Path each : arrays.keySet()) {
      List<String> documents = each.equals(directory) ? List.of() : ZarrNode.documents(store, each);
      if (!documents.isEmpty() && !scratch.isAfterKilled()) {
        throw new IllegalArgumentException(
            "%s is an array or a group, and its directory is no image; write the image to another path"
                .formatted(each));
      }
      for (String name : documents) { // an image's array without its group
        objects.remove(new Path(each, name));
      }
    }
    if (scratch.isAfterKilled()) {
      new Leftovers(directory, arrays, conf).remove();
      scratch.removeKilled();
    }
  }

  /** The arrays that are written, by their directories. */
  private Map<Path, ZarrArray> arrays(WrittenArray finest, Optional<Pyramid> image) {
    if (image.isEmpty()) {
      return Map.of(directory, finest.array());
    }
    Map<Path, ZarrArray> arrays = new HashMap<>();
    List<WrittenArray> levels = image.get().levels();
    for (int level = 0; level < levels.size(); level++) {
      arrays.put(Pyramid.directory(directory, level), levels.get(level).array());
    }
    return arrays;
  }

  /**
   * Removes an existing array or image, its metadata first; false if there is none.
   *
   * @throws IllegalArgumentException if it holds other arrays
   */
  private boolean remove(FileSystem store, Scratch scratch) throws IOException {
    List<String> documents = ZarrNode.documents(store, directory);
    if (!ZarrNode.isNode(documents)) {
      return false;
    }
    if (ZarrNode.isPlainGroup(store, directory)) {
      throw new IllegalArgumentException(
          "%s is a group, which may hold other arrays; write to an array in it with the option component, or remove it"
              .formatted(directory));
    }
    Path labels = new Path(directory, LABELS);
    if (ZarrNode.isNode(ZarrNode.documents(store, labels))) {
      throw new IllegalArgumentException(
          "%s holds %s too, which would be removed; remove it before, or write to another path"
              .formatted(directory, LABELS));
    }
    StoredObjects objects = new StoredObjects(conf);
    boolean isGone = false;
    try {
      // Of an image the coarsest array first: while its group is there, another write removes all.
      List<Path> nodes = new ArrayList<>(levels());
      Collections.reverse(nodes);
      nodes.add(directory);
      for (Path node : nodes) {
        for (String name : ZarrNode.documents(store, node)) {
          objects.remove(new Path(node, name));
          isGone = true;
        }
      }
      scratch.removeOthers(directory);
    } catch (IOException e) {
      if (!isGone) {
        throw e;
      }
      throw new IOException(
          "the array that was there is gone, but not all of its objects can be removed: "
              + IoReasons.reason(e),
          e);
    }
    return true;
  }

  /** The directories of the image's arrays, the finest first; none if this is no image. */
  private List<Path> levels() {
    Optional<Multiscales> image;
    try {
      image = ZarrNode.find(directory.toString(), "", conf).flatMap(ZarrNode::multiscales);
    } catch (IllegalArgumentException e) {
      return List.of(); // metadata that nobody can read
    }
    return image.map(Multiscales::levels).orElse(List.of()).stream()
        .map(Multiscales.Level::path)
        .filter(path -> path.matches("[^/:.][^/:]*(/[^/:.][^/:]*)*")) // none outside of the group
        .map(path -> new Path(directory, path))
        .toList();
  }

  /** An array whose metadata are not written yet. */
  private static final class Unfinished implements Pending {
    private final ZarrSink sink;
    private final ZarrTarget target;
    private final Scratch scratch; // owned
    private final Optional<Pyramid> image;
    private final boolean removed;
    private boolean committed;

    private Unfinished(
        ZarrSink sink,
        ZarrTarget target,
        Scratch scratch,
        Optional<Pyramid> image,
        boolean removed) {
      this.sink = sink;
      this.target = target;
      this.scratch = scratch;
      this.image = image;
      this.removed = removed;
    }

    @Override
    public Target target() {
      return target;
    }

    @Override
    public boolean hasRemoved() {
      return removed;
    }

    @Override
    public void commit(boolean replace) throws IOException {
      if (!replace && sink.exists()) {
        committed = true; // the array is another writer's, so its objects stay
        throw meanwhile();
      }
      image.ifPresent(
          pyramid ->
              pyramid.write(sink.directory, target.scratch(), target.isClean(), target.conf()));
      sink.parents.putMissing(sink.conf, sink.options.writing().version());
      StoredObjects objects = new StoredObjects(sink.conf, target.scratch());
      Map<Path, byte[]> documents = documents();
      int left = documents.size();
      for (Map.Entry<Path, byte[]> document : documents.entrySet()) {
        ByteBuffer bytes = ByteBuffer.wrap(document.getValue());
        left--;
        if (replace || left > 0) {
          objects.put(document.getKey(), bytes);
          continue;
        }
        try {
          objects.putNew(document.getKey(), bytes);
        } catch (FileAlreadyExistsException e) {
          committed = true;
          throw meanwhile();
        }
      }
      committed = true;
    }

    /**
     * All metadata documents by their paths; the array or image exists once the last one is
     * written.
     */
    private Map<Path, byte[]> documents() {
      ZarrWriteOptions writing = sink.options.writing();
      Map<Path, byte[]> documents = new LinkedHashMap<>();
      if (image.isEmpty()) {
        put(documents, sink.directory, target.written(), writing.attributes());
        return documents;
      }
      List<WrittenArray> levels = image.get().levels();
      for (int level = 0; level < levels.size(); level++) {
        Path directory = Pyramid.directory(sink.directory, level);
        put(documents, directory, levels.get(level), JsonNodeFactory.instance.objectNode());
      }
      documents.put(
          new Path(sink.directory, ZarrNode.VERSION_3),
          image.get().groupDocument(sink.directory.getName(), writing.attributes()));
      return documents;
    }

    private void put(
        Map<Path, byte[]> documents, Path directory, WrittenArray array, JsonNode attributes) {
      ArrayDocuments.of(array, sink.options.writing().version(), attributes)
          .forEach((name, bytes) -> documents.put(new Path(directory, name), bytes));
    }

    private FileAlreadyExistsException meanwhile() {
      return new FileAlreadyExistsException(
          sink.directory.toString(),
          null,
          "another write has made it meanwhile, and both wrote chunks there; use mode overwrite or"
              + " another path");
    }

    /**
     * Removes the objects of a write that failed; those of a killed driver stay, but are not an
     * array.
     */
    @Override
    public void close() throws IOException {
      try {
        if (!committed && !sink.exists()) { // else it is another write's, on a store without signs
          removeObjects();
        }
      } finally {
        committed = true; // close may be called twice
        scratch.close();
      }
    }

    private void removeObjects() throws IOException {
      if (target.isClean()) {
        StorePaths.fileSystem(sink.directory, sink.conf).delete(sink.directory, true);
        return;
      }
      if (image.isEmpty()) {
        remove(new Path(target.directory()), target.written().array());
        return;
      }
      List<WrittenArray> levels = image.get().levels();
      for (int level = 0; level < levels.size(); level++) {
        Path directory = Pyramid.directory(sink.directory, level);
        new StoredObjects(sink.conf).remove(new Path(directory, ZarrNode.VERSION_3));
        remove(directory, levels.get(level).array());
      }
    }

    private void remove(Path directory, ZarrArray array) throws IOException {
      if (array.shape().elements() == 0) {
        return;
      }
      StoredObjects objects = new StoredObjects(sink.conf);
      new ChunkGrid(array.shape(), array.layout().shape())
          .forEach(
              new long[array.shape().rank()],
              array.shape().toArray(),
              place -> objects.remove(new Path(directory, array.keys().of(place))));
    }
  }
}
