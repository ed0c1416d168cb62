package org.tilespark.spark.npy;

import java.io.Closeable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.UUID;
import org.apache.hadoop.conf.Configuration;

/**
 * A place for one .npy file on a POSIX file system, on which it appears whole or not at all: it is
 * made under a hidden name beside it and renamed. Immutable.
 *
 * @param path where the file will be
 */
record PosixTarget(Path path) {
  /**
   * The place that a user named.
   *
   * @throws IllegalArgumentException if it is not on a local or shared POSIX file system, or a
   *     directory is in its place
   */
  static PosixTarget of(String text, Configuration conf) {
    org.apache.hadoop.fs.Path qualified;
    try {
      qualified = NpyFile.qualify(text, conf);
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot write " + text + ": " + e.getMessage(), e);
    }
    if (!NpyFile.isLocal(qualified)) {
      throw new IllegalArgumentException(
          "format npy writes to local or shared POSIX paths (file:/...), since its tasks write at"
              + " places inside one file; found "
              + qualified
              + ". Write blocks as Parquet there: df.write().parquet(...)");
    }
    Path path = NpyFile.localPath(qualified);
    if (Files.isDirectory(path)) {
      throw new IllegalArgumentException(
          path + " is a directory; format npy writes one file, name it: " + path.resolve("a.npy"));
    }
    return new PosixTarget(path);
  }

  /** True if the file is there already. */
  boolean exists() {
    return Files.exists(path);
  }

  /**
   * Makes the hidden file, with its header and its whole length.
   *
   * @return the file, to be closed whatever happens
   */
  Pending begin(NpyHeader header) throws IOException {
    Path directory = path.toAbsolutePath().getParent();
    Files.createDirectories(directory);
    Path file = directory.resolve("." + path.getFileName() + "." + UUID.randomUUID() + ".tmp");
    Pending pending = new Pending(path, file);
    try (FileChannel channel =
        FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
      ByteBuffer bytes = ByteBuffer.wrap(header.encode());
      while (bytes.hasRemaining()) {
        channel.write(bytes);
      }
      if (header.dataBytes() > 0) {
        channel.write(ByteBuffer.allocate(1), header.fileBytes() - 1);
      }
      return pending;
    } catch (Throwable t) {
      pending.close();
      throw t;
    }
  }

  /** The hidden file, until it has its name; owns it. */
  static final class Pending implements Closeable {
    private final Path target;
    private final Path file;

    private Pending(Path target, Path file) {
      this.target = target;
      this.file = file;
    }

    Path file() {
      return file;
    }

    /**
     * Gives the file its name in one step.
     *
     * @param replace true to put it in place of one that is there
     * @throws FileAlreadyExistsException if not, and one is there by now
     */
    void commit(boolean replace) throws IOException {
      try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
        channel.force(true);
      }
      if (replace || !linked()) {
        Files.move(file, target, StandardCopyOption.ATOMIC_MOVE);
      }
      // The name lies in the directory, which has its own way to the disk.
      try (FileChannel directory = FileChannel.open(target.toAbsolutePath().getParent())) {
        directory.force(true);
      } catch (IOException e) {
        // Not every file system opens directories; the data itself is on the disk.
        return;
      }
    }

    /** A rename would replace what appeared meanwhile, a link does not. */
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
        return false; // no links on this file system
      }
    }

    /** Removes the hidden name, if it is still there. */
    @Override
    public void close() throws IOException {
      Files.deleteIfExists(file);
    }
  }
}
