package org.tilespark.spark.source.zarr;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.StandardOpenOption;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.SparkEnv;
import org.tilespark.spark.source.HiddenFiles;
import org.tilespark.spark.source.StorePaths;
import org.tilespark.spark.source.StoredObjects;

/**
 * The hidden directory in which all processes of one write have the files that get their names once
 * they are whole. It ends with the write, and with it what killed executors left. A killed driver
 * leaves it; a local one is removed by a later write to the same place.
 */
final class Scratch implements Closeable {
  private final String place;
  private final FileSystem store; // borrowed
  private final FileChannel beat; // null unless local
  private final HiddenFiles.Heartbeat heartbeat; // null unless local

  private Scratch(
      String place, FileSystem store, FileChannel beat, HiddenFiles.Heartbeat heartbeat) {
    this.place = place;
    this.store = store;
    this.beat = beat;
    this.heartbeat = heartbeat;
  }

  /**
   * Makes one in the directory of an array, and removes those that killed drivers left there.
   *
   * @return one without a place if objects of the store never are hidden files
   */
  static Scratch in(Path directory, FileSystem store) throws IOException {
    if (!StoredObjects.hasHiddenFiles(directory)) {
      return new Scratch("", store, null, null);
    }
    Path scratch =
        new Path(
            directory, HiddenFiles.newScratch(java.nio.file.Path.of("")).getFileName().toString());
    if (!StorePaths.isLocal(directory)) {
      store.mkdirs(scratch);
      return new Scratch(scratch.toString(), store, null, null);
    }
    java.nio.file.Path local = StorePaths.localPath(scratch);
    Files.createDirectories(local);
    FileChannel beat =
        FileChannel.open(
            HiddenFiles.beat(local), StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
    byte first = 0;
    beat.write(ByteBuffer.wrap(new byte[] {first}));
    HiddenFiles.removeAbandonedScratch(local);
    SparkEnv application = SparkEnv.get(); // null without an application
    return new Scratch(
        scratch.toString(),
        store,
        beat,
        new HiddenFiles.Heartbeat(
            beat, first, HiddenFiles.BEAT, () -> application != null && application.isStopped()));
  }

  /** Its path; "" if there is none. */
  String place() {
    return place;
  }

  /** Removes it with all that is in it; may be called twice. */
  @Override
  public void close() throws IOException {
    if (heartbeat != null) {
      heartbeat.close();
      beat.close();
    }
    if (!place.isEmpty()) {
      store.delete(new Path(place), true);
    }
  }
}
