package org.tilespark.spark.source;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.NoSuchFileException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.ChecksumFileSystem;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/** Functions of paths that users name, on any Hadoop file system. Stateless. */
public final class StorePaths {
  private StorePaths() {}

  /**
   * The path with the scheme and authority that Hadoop's configuration gives it.
   *
   * @throws IllegalArgumentException if the text is no path
   */
  public static Path qualify(String text, Configuration conf) throws IOException {
    Path path;
    try {
      path = new Path(text);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(
          ("'%s' is no path (%s); what stands before a colon is taken for a scheme, so"
                  + " write a relative name with a colon as ./%s")
              .formatted(text, e.getMessage(), text),
          e);
    }
    FileSystem fileSystem = path.getFileSystem(conf);
    return path.makeQualified(fileSystem.getUri(), fileSystem.getWorkingDirectory());
  }

  /** True for a path on a POSIX file system that this machine mounts. */
  public static boolean isLocal(Path qualified) {
    return "file".equals(qualified.toUri().getScheme());
  }

  /** A local path as a path of the JDK. */
  public static java.nio.file.Path localPath(Path qualified) {
    return java.nio.file.Path.of(qualified.toUri().getPath());
  }

  /** The path without symbolic links if it is local and exists; else the path itself. */
  static Path real(Path qualified) throws IOException {
    if (!isLocal(qualified)) {
      return qualified;
    }
    try {
      return new Path(localPath(qualified).toRealPath().toUri());
    } catch (NoSuchFileException e) {
      return qualified;
    }
  }

  /**
   * Refuses a file whose length its file system does not tell, as that of HTTP does not.
   *
   * @throws IllegalArgumentException if so
   */
  public static void requireLength(FileStatus file) {
    if (file.getLen() < 0) {
      throw new IllegalArgumentException(
          "%s has no length: the file system %s does not tell it, so no arrays can be read from there; copy the files to a disk or an object store"
              .formatted(file.getPath(), file.getPath().toUri().getScheme()));
    }
  }

  /**
   * The file system of a path. Local files are read without Hadoop's checksums: numpy overwrites a
   * file without updating the hidden checksum file, and Hadoop cannot represent names with colons.
   */
  public static FileSystem fileSystem(Path path, Configuration conf) throws IOException {
    FileSystem fileSystem = path.getFileSystem(conf);
    return fileSystem instanceof ChecksumFileSystem checked
        ? checked.getRawFileSystem()
        : fileSystem;
  }

  /** True if a file or directory of that name exists. */
  public static boolean exists(String text, Configuration conf) {
    try {
      Path path = qualify(text, conf);
      return fileSystem(path, conf).exists(path);
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot read " + text + ": " + IoReasons.reason(e), e);
    }
  }
}
