package org.tilespark.spark.source.zarr;

import java.io.Closeable;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.SparkEnv;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tilespark.spark.source.HiddenFiles;
import org.tilespark.spark.source.StorePaths;
import org.tilespark.spark.source.StoredObjects;

/**
 * The sign that a write to an array's directory is under way: a hidden directory, in which all
 * processes of the write have the files that get their names once they are whole, or an object next
 * to the directory on stores without hidden files. It ends with the write, and with it what killed
 * executors left. A killed driver leaves it, which tells the next write that there may be chunks of
 * no array.
 */
final class Scratch implements Closeable {
  private static final Logger LOG = LoggerFactory.getLogger(Scratch.class);

  private final Path sign;
  private final FileSystem store; // borrowed
  private final boolean isDirectory;
  private final List<Path> killed;
  private FileChannel beat; // owned; null unless local
  private HiddenFiles.Heartbeat heartbeat; // owned; null unless local

  private Scratch(Path sign, FileSystem store, boolean isDirectory, List<Path> killed) {
    this.sign = sign;
    this.store = store;
    this.isDirectory = isDirectory;
    this.killed = killed;
  }

  /**
   * Makes one in the directory of an array.
   *
   * @throws java.nio.file.FileAlreadyExistsException if another write to a local directory is under
   *     way
   */
  static Scratch in(Path directory, FileSystem store, Configuration conf) throws IOException {
    if (!StoredObjects.hasHiddenFiles(directory)) { // one name, since a list may be forbidden
      Path sign = directory.suffix(".tilespark.writing");
      List<Path> others = store.exists(sign) ? List.of(sign) : List.of();
      new StoredObjects(conf).put(sign, ByteBuffer.allocate(0));
      return new Scratch(sign, store, false, others);
    }
    Path sign = new Path(directory, HiddenFiles.newScratch());
    if (StorePaths.isLocal(directory)) {
      return inLocal(sign, store);
    }
    List<Path> others = others(directory, store);
    store.mkdirs(sign);
    return new Scratch(sign, store, true, others);
  }

  private static List<Path> others(Path directory, FileSystem store) throws IOException {
    List<Path> others = new ArrayList<>();
    try {
      for (FileStatus status : store.listStatus(directory)) {
        if (HiddenFiles.isScratch(status.getPath().getName())) {
          others.add(new Path(directory, status.getPath().getName()));
        }
      }
    } catch (FileNotFoundException e) {
      return List.of();
    }
    return others;
  }

  private static Scratch inLocal(Path sign, FileSystem store) throws IOException {
    java.nio.file.Path local = StorePaths.localPath(sign);
    Files.createDirectories(local);
    Scratch scratch = new Scratch(sign, store, true, new ArrayList<>());
    try {
      scratch.beat =
          FileChannel.open(
              HiddenFiles.beat(local), StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
      byte[] content = HiddenFiles.beatContent();
      scratch.beat.write(ByteBuffer.wrap(content));
      for (java.nio.file.Path other : HiddenFiles.abandonedScratches(local)) {
        scratch.killed.add(new Path(sign.getParent(), other.getFileName().toString()));
      }
      SparkEnv application = SparkEnv.get(); // null without an application
      scratch.heartbeat =
          new HiddenFiles.Heartbeat(
              scratch.beat,
              content[0],
              HiddenFiles.BEAT,
              () -> application != null && application.isStopped());
      return scratch;
    } catch (IOException | RuntimeException e) {
      scratch.close();
      throw e;
    }
  }

  /** The directory of files without a name; "" on stores without hidden files. */
  String place() {
    return isDirectory ? sign.toString() : "";
  }

  /** Removes all else in the array's directory. */
  void removeOthers(Path directory) throws IOException {
    if (!isDirectory) {
      store.delete(directory, true);
      return;
    }
    for (FileStatus each : store.listStatus(directory)) {
      String name = each.getPath().getName();
      if (!name.equals(sign.getName())) {
        store.delete(new Path(directory, name), true);
      }
    }
  }

  /** True if a write to the directory was killed; on stores of objects it may be under way. */
  boolean isAfterKilled() {
    return !killed.isEmpty();
  }

  /** Removes the signs of killed writes. */
  void removeKilled() throws IOException {
    for (Path each : killed) {
      if (!each.equals(sign)) {
        store.delete(each, true);
      }
    }
  }

  /** Removes it with all that is in it; may be called twice. */
  @Override
  public void close() {
    if (heartbeat != null) {
      heartbeat.close();
    }
    try {
      if (beat != null) {
        beat.close();
      }
      store.delete(sign, true);
    } catch (IOException e) { // what was written is right or wrong without it
      LOG.warn("Could not remove {}", sign, e);
    }
  }
}
