package org.tilespark.spark.source;

import java.io.Closeable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.Optional;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.SparkEnv;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tilespark.kernels.launch.Availability;

/**
 * The target of one file on a POSIX file system, where it appears complete or not at all: it is
 * written under a hidden name in the same directory and then renamed. Immutable.
 *
 * @param path path that the file will have
 */
public record PosixTarget(Path path) {
  private static final Logger LOG = LoggerFactory.getLogger(PosixTarget.class);

  /** Most links of a chain that Linux follows before it reports a loop. */
  private static final int MAX_LINKS = 40;

  /**
   * The target for a path from a user. If the path is a symbolic link, the target is the link's
   * end, even if no file exists there yet: the link stays, and the file appears at its end.
   *
   * @throws IllegalArgumentException if it is not on a local or shared POSIX file system, if a
   *     directory has its name, or if its directory cannot be created
   */
  public static PosixTarget of(String text, String format, Configuration conf) {
    org.apache.hadoop.fs.Path qualified;
    try {
      qualified = StorePaths.qualify(text, conf);
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot write " + text + ": " + IoReasons.reason(e), e);
    }
    if (!StorePaths.isLocal(qualified)) {
      throw new IllegalArgumentException(
          ("format %s writes to local or shared POSIX paths (file:/...), since its"
                  + " tasks write at places inside one file; found %s. Write format"
                  + " zarr there, whose tasks write whole objects, or blocks as Parquet")
              .formatted(format, qualified));
    }
    Path path;
    try {
      path = behindLinks(StorePaths.localPath(qualified));
      requireDirectory(path);
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot write " + text + ": " + IoReasons.reason(e), e);
    }
    if (Files.isDirectory(path)) {
      throw new IllegalArgumentException(
          "%s is a directory; format %s writes one file, name it: %s"
              .formatted(path, format, path.resolve("a." + format)));
    }
    return new PosixTarget(path);
  }

  /** The end of a chain of symbolic links; the path itself if it is no link. */
  private static Path behindLinks(Path path) throws IOException {
    Path end = path;
    for (int links = 0; Files.isSymbolicLink(end); links++) {
      if (links == MAX_LINKS) {
        throw new IllegalArgumentException(
            "Cannot write " + path + ": it is a link that leads back to itself");
      }
      end = end.resolveSibling(Files.readSymbolicLink(end));
    }
    if (!end.equals(path) && !Files.isDirectory(end.getParent())) {
      // Missing directories are created for a user's path, but not at the end of a link, which may
      // lead to a disk that is not mounted.
      throw new IllegalArgumentException(
          ("Cannot write %s: it is a link to %s, and the directory %s does not exist;"
                  + " make it, or remove the link")
              .formatted(path, end, end.getParent()));
    }
    return end;
  }

  /** Checks that no file is in the place of the file's directory, or of one above it. */
  private static void requireDirectory(Path path) throws IOException {
    Path directory = path.getParent();
    while (directory != null && !Files.exists(directory, LinkOption.NOFOLLOW_LINKS)) {
      directory = directory.getParent();
    }
    if (directory != null && !Files.isDirectory(directory)) {
      throw new IllegalArgumentException(
          "Cannot write %s: %s%s; expected a directory"
              .formatted(
                  path,
                  directory,
                  Files.isSymbolicLink(directory)
                      ? " is a link to "
                          + Files.readSymbolicLink(directory)
                          + ", which does not exist"
                      : " is a file"));
    }
  }

  /** True if the file is there already. */
  public boolean exists() {
    return Files.exists(path);
  }

  /**
   * Creates the hidden file, with its header and full length, and removes hidden files of killed
   * drivers.
   *
   * @param head first bytes of the file, 1 or more
   * @param fileBytes full length of the file
   * @param heartbeat interval at which the file's time is renewed, see {@link HiddenFiles#BEAT}
   * @return the file, which the caller must close in any case
   */
  public Pending begin(byte[] head, long fileBytes, Duration heartbeat) throws IOException {
    Files.createDirectories(path.toAbsolutePath().getParent());
    Path file = HiddenFiles.newName(path);
    FileChannel channel =
        FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
    try {
      ByteBuffer bytes = ByteBuffer.wrap(head);
      while (bytes.hasRemaining()) {
        channel.write(bytes);
      }
      if (fileBytes > head.length) {
        channel.write(ByteBuffer.allocate(1), fileBytes - 1);
      }
      HiddenFiles.removeAbandoned(path, file);
      SparkEnv application = SparkEnv.get(); // null without an application
      return new Pending(
          path,
          file,
          channel,
          space(file, fileBytes),
          new HiddenFiles.Heartbeat(
              channel,
              bytes.get(0),
              heartbeat,
              () -> application != null && application.isStopped()));
    } catch (Throwable t) {
      try {
        channel.close();
      } finally {
        Files.deleteIfExists(file);
      }
      throw t;
    }
  }

  /**
   * The space of a file that tasks write through mappings, which is reserved from now on; empty if
   * none is reserved.
   */
  private static Optional<FileSpace> space(Path file, long fileBytes) {
    if (fileBytes == 0 || PosixWriter.way(file) != WriteWay.MAPPED) {
      return Optional.empty();
    }
    Availability<FileSpace> space = FileSpace.open(file, fileBytes);
    return space.isPresent() ? Optional.of(space.get()) : Optional.empty();
  }

  /** Owns the hidden file until it gets its name. */
  public static final class Pending implements Closeable {
    private final Path target;
    private final Path file;
    private final FileChannel channel;
    private final HiddenFiles.Heartbeat heartbeat;
    private Optional<FileSpace> space; // empty after it is closed, or if none is reserved

    private Pending(
        Path target,
        Path file,
        FileChannel channel,
        Optional<FileSpace> space,
        HiddenFiles.Heartbeat heartbeat) {
      this.target = target;
      this.file = file;
      this.channel = channel;
      this.space = space;
      this.heartbeat = heartbeat;
    }

    /** The hidden file. */
    public Path file() {
      return file;
    }

    /**
     * Gives the file its name in one step.
     *
     * @param replace true to replace an existing file
     * @param durable true if the file and its name must be on the disk when this returns
     * @throws FileAlreadyExistsException if {@code replace} is false and a file exists now
     */
    public void commit(boolean replace, boolean durable) throws IOException {
      heartbeat.close();
      closeSpace();
      if (durable) {
        channel.force(true);
      }
      // Removes Hadoop's checksums of the old file, by which its readers would refuse the new one.
      // If the process ends here, they read the old file without checksums.
      Files.deleteIfExists(target.resolveSibling("." + target.getFileName() + ".crc"));
      FileChannel replaced = replace ? opened(target) : null;
      try {
        if (replace || !linked()) {
          Files.move(file, target, StandardCopyOption.ATOMIC_MOVE);
        }
      } catch (FileAlreadyExistsException e) {
        throw new FileAlreadyExistsException(
            target.toString(),
            null,
            "another write has made it meanwhile, and it was left as it is; use mode overwrite or"
                + " another path");
      } catch (NoSuchFileException e) {
        throw new NoSuchFileException(
            file.toString(), null, "it was removed while it was being written; write again");
      } finally {
        if (replaced != null) {
          closeAside(replaced);
        }
      }
      if (!durable) {
        return;
      }
      // The file's name is stored in the directory, which must be forced to the disk separately.
      try (FileChannel directory = FileChannel.open(target.toAbsolutePath().getParent())) {
        directory.force(true);
      } catch (IOException e) {
        // Not every file system opens directories; the data itself is on the disk.
        return;
      }
    }

    private void closeSpace() {
      space.ifPresent(FileSpace::close);
      space = Optional.empty();
    }

    /**
     * The file that is to be replaced, open: its space is freed when the last channel to it closes,
     * which takes 0.1 s for each cached GiB, so that is done later. Null if it cannot be opened.
     */
    private static FileChannel opened(Path file) {
      try {
        return FileChannel.open(file, StandardOpenOption.READ);
      } catch (IOException e) {
        return null;
      }
    }

    private static void closeAside(FileChannel replaced) {
      Thread thread =
          new Thread(
              () -> {
                try {
                  replaced.close();
                } catch (IOException e) {
                  LOG.debug("The space of a replaced file may not be free", e);
                }
              },
              "tilespark-replaced-file");
      thread.setDaemon(true);
      thread.start();
    }

    /**
     * Gives the file its name by a link, since a rename would replace a file that appeared
     * meanwhile; false if the file system has no links.
     */
    private boolean linked() throws IOException {
      try {
        Files.createLink(target, file);
        return true;
      } catch (FileAlreadyExistsException e) {
        throw e;
      } catch (UnsupportedOperationException | FileSystemException e) {
        if (Files.exists(target)) {
          throw new FileAlreadyExistsException(target.toString());
        }
        return false; // this file system has no links
      }
    }

    /** Removes the hidden file, if it still exists; may be called twice. */
    @Override
    public void close() throws IOException {
      heartbeat.close();
      closeSpace();
      try {
        channel.close();
      } finally {
        Files.deleteIfExists(file);
      }
    }
  }
}
