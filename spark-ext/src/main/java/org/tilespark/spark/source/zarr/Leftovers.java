package org.tilespark.spark.source.zarr;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocatedFileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RemoteIterator;
import org.tilespark.layout.Shape;
import org.tilespark.spark.source.StorePaths;
import org.tilespark.spark.source.StoredObjects;

/**
 * Chunks of no array, which a write that was killed left in a directory that has no metadata, and
 * which a write to the same directory does not replace since its array has no chunks of these
 * names. They would become elements if somebody made the array larger. Used by one thread.
 */
final class Leftovers {
  private static final Pattern NUMBER = Pattern.compile("\\d+");
  private static final Pattern VERSION_3 = Pattern.compile("c(/\\d+)+");
  private static final Pattern VERSION_2 = Pattern.compile("\\d+(\\.\\d+)+");

  private final Path directory;
  private final Map<Path, ZarrArray> written;
  private final FileSystem store;
  private final boolean hasDirectories;

  /**
   * For one write.
   *
   * @param directory directory of the array or image
   * @param written the arrays that are written, by their directories
   */
  Leftovers(Path directory, Map<Path, ZarrArray> written, Configuration conf) throws IOException {
    this.directory = directory;
    this.written = written;
    this.store = StorePaths.fileSystem(directory, conf);
    this.hasDirectories = StoredObjects.hasHiddenFiles(directory);
  }

  /**
   * Removes them: files with names of chunks, in the directory and in those below it that are named
   * as an image's arrays are. What belongs to another array or group, and all else, stays.
   */
  void remove() throws IOException {
    removeIn(directory);
    for (FileStatus status : list(directory)) {
      Path below = new Path(directory, status.getPath().getName());
      if (status.isDirectory()
          && NUMBER.matcher(below.getName()).matches()
          && (written.containsKey(below) || !isNode(below))) {
        removeIn(below);
      }
    }
  }

  private void removeIn(Path array) throws IOException {
    for (FileStatus status : list(array)) {
      String name = status.getPath().getName();
      if (status.isDirectory() && name.equals("c") && !isNode(new Path(array, name))) {
        removeChunks(array);
      } else if (status.isFile() && VERSION_2.matcher(name).matches() && !isOwn(array, name)) {
        store.delete(new Path(array, name), false);
      }
    }
  }

  /** Removes chunks of version 3, unless something else is among them. */
  private void removeChunks(Path array) throws IOException {
    int before = array.toUri().getPath().length() + 1;
    List<String> keys = new ArrayList<>();
    try {
      RemoteIterator<LocatedFileStatus> files = store.listFiles(new Path(array, "c"), true);
      while (files.hasNext()) {
        String key = files.next().getPath().toUri().getPath().substring(before);
        if (!VERSION_3.matcher(key).matches()) {
          return;
        }
        if (!isOwn(array, key)) {
          keys.add(key);
        }
      }
    } catch (FileNotFoundException e) {
      return; // another process has removed them
    }
    for (String key : keys) {
      store.delete(new Path(array, key), false);
      Path parent = new Path(array, key).getParent();
      while (hasDirectories && !parent.equals(array) && list(parent).length == 0) {
        store.delete(parent, false); // it may have the name of a chunk of the new array
        parent = parent.getParent();
      }
    }
  }

  private boolean isOwn(Path array, String key) {
    return written.containsKey(array) && isChunk(written.get(array), key);
  }

  private static boolean isChunk(ZarrArray array, String key) {
    String[] numbers = key.replaceFirst("^c/", "").split("[./]");
    Shape object = array.layout().shape();
    if (numbers.length != object.rank()) {
      return false;
    }
    long[] place = new long[numbers.length];
    for (int axis = 0; axis < place.length; axis++) {
      if (numbers[axis].length() > 18) {
        return false; // no number of a chunk
      }
      place[axis] = Long.parseLong(numbers[axis]);
      long extent = array.shape().extent(axis);
      if (place[axis] > (extent - 1) / object.extent(axis) || extent == 0) {
        return false;
      }
    }
    return array.keys().of(place).equals(key);
  }

  private boolean isNode(Path below) throws IOException {
    return ZarrNode.isNode(ZarrNode.documents(store, below));
  }

  private FileStatus[] list(Path below) throws IOException {
    try {
      return store.listStatus(below);
    } catch (FileNotFoundException e) {
      return new FileStatus[0];
    }
  }
}
