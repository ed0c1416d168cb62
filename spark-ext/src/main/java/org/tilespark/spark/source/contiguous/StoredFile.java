package org.tilespark.spark.source.contiguous;

import java.io.BufferedInputStream;
import java.io.Closeable;
import java.io.EOFException;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.time.Instant;
import java.util.Arrays;
import java.util.Optional;
import java.util.zip.CRC32;
import java.util.zip.GZIPInputStream;
import java.util.zip.ZipException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.tilespark.spark.error.ErrorBoundary;
import org.tilespark.spark.source.IoReasons;
import org.tilespark.spark.source.KnownFormat;
import org.tilespark.spark.source.StorePaths;
import org.tilespark.spark.source.StoredInput;

/**
 * One file as the driver found it, by which tasks detect another one in its place. Immutable.
 *
 * @param path the file, with scheme and authority
 * @param modificationMillis time of its last write
 * @param bytes its length
 * @param isGzip true if it is compressed as a whole by gzip
 * @param headBytes count of its first bytes that were read, decompressed
 * @param headSum their checksum
 */
public record StoredFile(
    String path, long modificationMillis, long bytes, boolean isGzip, int headBytes, long headSum)
    implements Serializable {
  /**
   * Makes something of a file's first bytes.
   *
   * @param <T> the result
   */
  @FunctionalInterface
  public interface Reader<T> {
    /**
     * Reads a file.
     *
     * @param file the file, with no first bytes read yet
     * @param first reads the file's first bytes: exactly as many as asked, or all if it is shorter
     * @throws IllegalArgumentException if it is not what is expected; the file's name is added
     */
    T read(StoredFile file, First first) throws IOException;
  }

  /** Reads a file's first bytes. */
  @FunctionalInterface
  public interface First {
    /** The first bytes, at most {@code count}, decompressed. */
    byte[] bytes(int count) throws IOException;
  }

  /**
   * Reads the beginning of a file.
   *
   * @param text path of the file, as the user wrote it
   * @param format name of the format, for messages
   * @throws IllegalArgumentException if the file does not exist, or {@code reader} refuses it
   * @throws UncheckedIOException if it cannot be read
   */
  public static <T> T open(String text, String format, Configuration conf, Reader<T> reader) {
    try {
      Path path = StorePaths.qualify(text, conf);
      FileSystem store = StorePaths.fileSystem(path, conf);
      FileStatus status;
      try {
        status = store.getFileStatus(path);
      } catch (FileNotFoundException e) {
        throw new IllegalArgumentException("Path does not exist: " + text, e);
      }
      if (status.isDirectory()) {
        throw new IllegalArgumentException(
            "%s is a directory%s; format %s reads one file"
                .formatted(path, KnownFormat.ofDirectory(store, path), format));
      }
      StorePaths.requireLength(status);
      try (Head head = new Head(store.open(path))) {
        StoredFile file =
            new StoredFile(
                path.toString(), status.getModificationTime(), status.getLen(), head.isGzip, 0, 0);
        return reader.read(file, head);
      } catch (IllegalArgumentException e) {
        throw new IllegalArgumentException(path + ": " + e.getMessage(), e);
      }
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot read " + text + ": " + IoReasons.reason(e), e);
    }
  }

  /** As {@link #open}; empty if there is no file. */
  public static <T> Optional<T> find(
      String text, String format, Configuration conf, Reader<T> reader) {
    return ErrorBoundary.FILES.call(
        () ->
            StorePaths.exists(text, conf)
                ? Optional.of(open(text, format, conf, reader))
                : Optional.empty());
  }

  /** The first bytes of an open file, decompressed. */
  private static final class Head implements First, Closeable {
    /** More than a header of gzip and the first piece that is read after it. */
    private static final int MOST_MARKED = 1 << 16;

    private final InputStream stream; // owned
    private final boolean isGzip;
    private byte[] read = new byte[0];

    Head(InputStream stored) throws IOException {
      InputStream buffered = new BufferedInputStream(stored);
      buffered.mark(MOST_MARKED);
      boolean isMarked = KnownFormat.GZIP.begins(buffered.readNBytes(2));
      buffered.reset();
      InputStream unpacked = null;
      if (isMarked) {
        try {
          unpacked = new GZIPInputStream(buffered);
        } catch (ZipException | EOFException e) { // plain numbers may begin with the same two bytes
          buffered.reset();
        }
      }
      this.isGzip = unpacked != null;
      this.stream = isGzip ? unpacked : buffered;
    }

    @Override
    public byte[] bytes(int count) throws IOException {
      if (count > read.length) {
        byte[] more;
        try {
          more = stream.readNBytes(count - read.length);
        } catch (EOFException | ZipException e) {
          throw new IllegalArgumentException("a damaged gzip file: " + e.getMessage(), e);
        }
        int before = read.length;
        read = Arrays.copyOf(read, before + more.length);
        System.arraycopy(more, 0, read, before, more.length);
      }
      return Arrays.copyOf(read, Math.min(count, read.length));
    }

    @Override
    public void close() throws IOException {
      stream.close();
    }
  }

  /** This file, whose first bytes are these. */
  public StoredFile beginning(byte[] head) {
    return new StoredFile(path, modificationMillis, bytes, isGzip, head.length, sum(head));
  }

  /** This file, read as it is stored. */
  public StoredFile plain() {
    return new StoredFile(path, modificationMillis, bytes, false, headBytes, headSum);
  }

  private static long sum(byte[] bytes) {
    CRC32 sum = new CRC32();
    sum.update(bytes);
    return sum.getValue();
  }

  /**
   * Checks that the file is still the one that was found.
   *
   * @throws IOException if it is another one
   */
  void requireUnchanged(Configuration conf) throws IOException {
    Path file = new Path(path);
    FileSystem store = StorePaths.fileSystem(file, conf);
    FileStatus now = store.getFileStatus(file);
    if (now.getModificationTime() != modificationMillis || now.getLen() != bytes) {
      throw changed(
          "expected %s bytes of %s, found %s of %s"
              .formatted(
                  bytes,
                  Instant.ofEpochMilli(modificationMillis),
                  now.getLen(),
                  Instant.ofEpochMilli(now.getModificationTime())));
    }
    try (Head head = new Head(store.open(file))) {
      if (sum(head.bytes(headBytes)) != headSum) {
        throw changed("its first %s bytes are others".formatted(headBytes));
      }
    } catch (IllegalArgumentException e) {
      throw changed(e.getMessage());
    }
  }

  private IOException changed(String what) {
    return new IOException(
        "%s was changed since the DataFrame was made: %s. Load it again".formatted(path, what));
  }

  /** Opens the file's bytes, decompressed. */
  StoredInput input(Configuration conf) throws IOException {
    Path file = new Path(path);
    return isGzip
        ? new GzipInput(StorePaths.fileSystem(file, conf), file)
        : StoredInput.open(file, conf, StoredInput.Use.PARTS);
  }
}
