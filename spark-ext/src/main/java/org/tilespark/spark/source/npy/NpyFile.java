package org.tilespark.spark.source.npy;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Arrays;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.tilespark.spark.source.IoReasons;
import org.tilespark.spark.source.StorePaths;

/**
 * One .npy file as the driver found it: its header, checked against its length. Immutable.
 *
 * @param path path of the file, with scheme and authority
 * @param header header of the file
 * @param modificationMillis time of the file's last write, to distinguish two files of one name
 */
record NpyFile(Path path, NpyHeader header, long modificationMillis) {
  /**
   * Reads only the header.
   *
   * @throws IllegalArgumentException if there is no file of this name, it is no .npy file of two
   *     axes or more, or its length is not the one that its header states
   * @throws UncheckedIOException if the file cannot be read
   */
  static NpyFile open(String text, Configuration conf) {
    try {
      Path path = StorePaths.qualify(text, conf);
      FileSystem fileSystem = StorePaths.fileSystem(path, conf);
      FileStatus status;
      try {
        status = fileSystem.getFileStatus(path);
      } catch (FileNotFoundException e) {
        throw new IllegalArgumentException("Path does not exist: " + text, e);
      }
      if (status.isDirectory()) {
        throw new IllegalArgumentException(
            path + " is a directory; format npy reads one .npy file");
      }
      NpyHeader header = header(path, fileSystem, status.getLen());
      return new NpyFile(path, header, status.getModificationTime());
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot read " + text + ": " + IoReasons.reason(e), e);
    }
  }

  private static NpyHeader header(Path path, FileSystem fileSystem, long length)
      throws IOException {
    NpyHeader header;
    try (FSDataInputStream stream = fileSystem.open(path)) {
      byte[] prefix = new byte[(int) Math.min(length, NpyHeader.PREFIX_BYTES)];
      stream.readFully(0, prefix);
      int headerBytes = NpyHeader.headerBytes(prefix);
      if (headerBytes > length) {
        throw new IllegalArgumentException(
            "truncated header: expected " + headerBytes + " bytes, found " + length);
      }
      byte[] bytes = Arrays.copyOf(prefix, headerBytes);
      stream.readFully(0, bytes);
      header = NpyHeader.parse(bytes);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(path + ": " + e.getMessage(), e);
    }
    int rank = header.shape().rank();
    if (rank < 2) {
      throw new IllegalArgumentException(
          "%s: an array of %s axes, shape %s; expected 2 or more; save a.reshape(1, -1) instead"
              .formatted(path, rank, header.shape()));
    }
    if (rank > 3 && header.fortranOrder()) {
      throw new IllegalArgumentException(
          ("%s: an array of %s axes in Fortran order; expected C order, or 3 axes at most; save"
                  + " numpy.ascontiguousarray(a) instead")
              .formatted(path, rank));
    }
    if (header.fileBytes() != length) {
      throw new IllegalArgumentException(
          "%s%s: expected %s bytes (%s of header, then %s of %s), found %s"
              .formatted(
                  path,
                  length < header.fileBytes() ? " is truncated" : " has bytes after its array",
                  header.fileBytes(),
                  header.dataOffset(),
                  header.shape(),
                  header.type().numpyName(),
                  length));
    }
    return header;
  }
}
