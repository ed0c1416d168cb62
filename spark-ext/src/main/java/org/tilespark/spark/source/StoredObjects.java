package org.tilespark.spark.source;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Set;
import java.util.UUID;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileContext;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Options;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.StreamCapabilities;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * Writes complete objects to a store. An object appears under its name only when it is complete,
 * and replaces an older one, so a second attempt that writes the same bytes does not affect
 * readers.
 *
 * <p>On file systems with an atomic rename, a hidden file is written and renamed; it remains if the
 * process is killed, so a caller gives a directory for these files, which it removes. On others an
 * object is created and closed, after which it is visible. Nothing is forced to a disk. Used by one
 * thread.
 */
public final class StoredObjects {
  /** Hadoop file systems that replace a file by a rename in one step. */
  private static final Set<String> RENAMING = Set.of("hdfs", "viewfs");

  private final Configuration conf; // borrowed
  private final Path scratch; // null: hidden files are next to their objects
  private byte[] heap; // null until needed

  /** A writer that has not written any object yet; it writes hidden files next to their objects. */
  public StoredObjects(Configuration conf) {
    this(conf, "");
  }

  /**
   * A writer that has not written any object yet.
   *
   * @param scratch an existing directory for hidden files, on the file system of the objects; ""
   *     for the directory of each object
   */
  public StoredObjects(Configuration conf, String scratch) {
    this.conf = conf;
    this.scratch = scratch.isEmpty() ? null : new Path(scratch);
  }

  /** True for a store where an object is first a hidden file, which a killed process leaves. */
  public static boolean hasHiddenFiles(Path qualified) {
    return StorePaths.isLocal(qualified) || RENAMING.contains(qualified.toUri().getScheme());
  }

  /**
   * Writes an object, or replaces it.
   *
   * @param bytes content of the object, from position to limit
   */
  public void put(Path object, ByteBuffer bytes) throws IOException {
    if (StorePaths.isLocal(object)) {
      putLocal(StorePaths.localPath(object), bytes, true);
    } else if (hasHiddenFiles(object)) {
      Path hidden =
          new Path(scratch == null ? object.getParent() : scratch, hiddenName(object.getName()));
      FileContext files = FileContext.getFileContext(object.toUri(), conf);
      try {
        create(hidden, bytes, true);
        rename(files, hidden, object);
      } catch (Throwable t) {
        files.delete(hidden, false);
        throw t;
      }
    } else {
      create(object, bytes, true);
    }
  }

  private static void rename(FileContext files, Path hidden, Path object) throws IOException {
    try {
      files.rename(hidden, object, Options.Rename.OVERWRITE);
    } catch (FileNotFoundException e) { // the object's directory is not there yet
      files.mkdir(object.getParent(), FsPermission.getDirDefault(), true);
      files.rename(hidden, object, Options.Rename.OVERWRITE);
    }
  }

  /**
   * Writes an object that must not exist yet.
   *
   * @throws FileAlreadyExistsException if it exists, as far as the file system can tell
   */
  public void putNew(Path object, ByteBuffer bytes) throws IOException {
    if (StorePaths.isLocal(object)) {
      putLocal(StorePaths.localPath(object), bytes, false);
      return;
    }
    try {
      create(object, bytes, false);
    } catch (org.apache.hadoop.fs.FileAlreadyExistsException e) {
      throw (IOException) new FileAlreadyExistsException(object.toString()).initCause(e);
    }
  }

  /** Removes an object; nothing happens if there is none. */
  public void remove(Path object) throws IOException {
    if (StorePaths.isLocal(object)) {
      Files.deleteIfExists(StorePaths.localPath(object));
      return;
    }
    try {
      StorePaths.fileSystem(object, conf).delete(object, false);
    } catch (FileNotFoundException e) {
      return; // the object is gone already
    }
  }

  private static String hiddenName(String name) {
    return "." + name + "." + UUID.randomUUID() + ".tmp";
  }

  private void putLocal(java.nio.file.Path object, ByteBuffer bytes, boolean replace)
      throws IOException {
    java.nio.file.Path directory = object.toAbsolutePath().getParent();
    java.nio.file.Path hidden =
        (scratch == null ? directory : StorePaths.localPath(scratch))
            .resolve(hiddenName(object.getFileName().toString()));
    try {
      if (scratch == null) {
        inDirectory(directory, () -> channelWrite(hidden, bytes));
      } else {
        channelWrite(hidden, bytes);
      }
      inDirectory(
          directory,
          () -> {
            if (replace) {
              Files.move(hidden, object, StandardCopyOption.ATOMIC_MOVE);
            } else {
              link(hidden, object);
            }
          });
    } finally {
      Files.deleteIfExists(hidden);
    }
  }

  /** A step that makes a file. */
  @FunctionalInterface
  private interface Step {
    void run() throws IOException;
  }

  /** Does a step, and makes the directory for it if it is not there. */
  private static void inDirectory(java.nio.file.Path directory, Step step) throws IOException {
    try {
      step.run();
    } catch (NoSuchFileException e) {
      Files.createDirectories(directory);
      step.run();
    }
  }

  private static void channelWrite(java.nio.file.Path file, ByteBuffer bytes) throws IOException {
    try (FileChannel channel =
        FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
      while (bytes.hasRemaining()) {
        channel.write(bytes);
      }
    }
  }

  /**
   * Gives a new object its name; fails if the name is taken. A link does that in one step. Where
   * there are no links, this looks first and renames, which may replace an object of another
   * writer.
   */
  private static void link(java.nio.file.Path hidden, java.nio.file.Path object)
      throws IOException {
    try {
      Files.createLink(object, hidden);
    } catch (FileAlreadyExistsException | NoSuchFileException e) {
      throw e;
    } catch (UnsupportedOperationException | java.nio.file.FileSystemException e) {
      if (Files.exists(object)) {
        throw new FileAlreadyExistsException(object.toString());
      }
      Files.move(hidden, object, StandardCopyOption.ATOMIC_MOVE); // this file system has no links
    }
  }

  /**
   * Creates and closes an object; after a failure in between it is dropped if the store supports
   * that.
   */
  private void create(Path object, ByteBuffer bytes, boolean replace) throws IOException {
    FileSystem store = StorePaths.fileSystem(object, conf);
    FSDataOutputStream stream = store.create(object, replace);
    try {
      if (heap == null) {
        heap = new byte[StoredInput.HEAP_BYTES];
      }
      while (bytes.hasRemaining()) {
        int piece = Math.min(heap.length, bytes.remaining());
        bytes.get(heap, 0, piece);
        stream.write(heap, 0, piece);
      }
    } catch (Throwable t) {
      if (stream.hasCapability(StreamCapabilities.ABORTABLE_STREAM)) {
        stream.abort();
      }
      try {
        stream.close();
      } catch (IOException e) {
        t.addSuppressed(e);
      }
      throw t;
    }
    stream.close();
  }
}
