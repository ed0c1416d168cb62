package org.tilespark.spark.source.zarr;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tilespark.spark.source.HiddenFiles;
import org.tilespark.spark.source.StorePaths;
import org.tilespark.spark.source.StoredObjects;

/**
 * The groups above an array that is written: those of its component, which the write makes if they
 * are none yet, and those above the store's path that exist.
 *
 * @param groups the groups, the innermost first
 */
record ParentGroups(List<Group> groups) {
  private static final Logger LOG = LoggerFactory.getLogger(ParentGroups.class);

  /**
   * A group.
   *
   * @param documents names of its stored documents; none if it is no group yet
   */
  record Group(Path directory, List<String> documents) {
    boolean exists() {
      return ZarrNode.isNode(documents);
    }
  }

  /**
   * Looks for the groups.
   *
   * @param directory directory of the array
   * @param component path of the array in the store, "" for the store's root
   * @throws IllegalArgumentException if one is an array
   */
  static ParentGroups of(Path directory, String component, Configuration conf) throws IOException {
    FileSystem store = StorePaths.fileSystem(directory, conf);
    int depth = component.isEmpty() ? 0 : component.split("/+").length;
    List<Group> groups = new ArrayList<>();
    for (Path at = directory.getParent(); at != null; at = at.getParent()) {
      boolean isOfComponent = groups.size() < depth;
      Group group = new Group(at, isOfComponent ? ZarrNode.documents(store, at) : above(store, at));
      if (!group.exists() && !isOfComponent) {
        break;
      }
      if (group.exists() && ZarrNode.isArray(store, at)) {
        throw new IllegalArgumentException(
            "%s is an array, which holds no other arrays; write %s to a path outside of it"
                .formatted(at, directory.getName()));
      }
      groups.add(group);
    }
    return new ParentGroups(List.copyOf(groups));
  }

  /** The documents in a directory of which nothing is known; none if they cannot be asked for. */
  private static List<String> above(FileSystem store, Path directory) {
    try {
      return ZarrNode.documents(store, directory);
    } catch (IOException e) {
      LOG.debug("{} cannot be read, so it is no group", directory, e);
      return List.of();
    }
  }

  /** The version of Zarr of the groups that exist; empty if there are none. */
  OptionalInt version() {
    return groups.stream()
        .filter(Group::exists)
        .mapToInt(group -> group.documents.contains(ZarrNode.VERSION_3) ? 3 : 2)
        .findFirst();
  }

  /**
   * Checks that no write to one of the groups' paths, or to the directory above the array, is under
   * way: it would remove or hide what is below.
   *
   * @param directory directory of the array
   * @throws java.nio.file.FileAlreadyExistsException if one is
   */
  void requireNoWrite(Path directory) throws IOException {
    Stream<Path> all =
        Stream.concat(
            Stream.ofNullable(directory.getParent()), groups.stream().map(Group::directory));
    for (Path above : all.distinct().filter(StorePaths::isLocal).toList()) {
      HiddenFiles.requireNoWrite(StorePaths.localPath(above));
    }
  }

  /** Writes the documents of groups that are none yet, so that readers find the array. */
  void putMissing(Configuration conf, int version) throws IOException {
    StoredObjects objects = new StoredObjects(conf);
    for (Group group : groups) {
      FileSystem store = StorePaths.fileSystem(group.directory, conf);
      if (!group.exists() && !ZarrNode.isNode(ZarrNode.documents(store, group.directory))) {
        String name = version == 2 ? ZarrNode.GROUP_2 : ZarrNode.VERSION_3;
        objects.put(
            new Path(group.directory, name), ByteBuffer.wrap(ArrayDocuments.ofGroup(version)));
      }
    }
  }

  /**
   * Removes the groups' copies of the metadata of all arrays below them (consolidated metadata),
   * which would hide a new array, and contradict one that is replaced.
   */
  void removeConsolidated(FileSystem store, StoredObjects objects) throws IOException {
    for (Group group : groups) {
      boolean isRemoved = false;
      if (group.documents.contains(ZarrNode.CONSOLIDATED_2)) {
        objects.remove(new Path(group.directory, ZarrNode.CONSOLIDATED_2));
        isRemoved = true;
      }
      if (group.documents.contains(ZarrNode.VERSION_3)) {
        Path document = new Path(group.directory, ZarrNode.VERSION_3);
        JsonNode json = ZarrNode.json(store, document);
        if (json instanceof ObjectNode all && Json.has(all, ZarrNode.CONSOLIDATED_3)) {
          all.remove(ZarrNode.CONSOLIDATED_3);
          objects.put(document, ByteBuffer.wrap(ArrayDocuments.bytes(all)));
          isRemoved = true;
        }
      }
      if (isRemoved) {
        LOG.warn(
            "Removed the consolidated metadata of {}, which a write below it makes wrong;"
                + " zarr.consolidate_metadata of Python makes them anew",
            group.directory);
      }
    }
  }
}
