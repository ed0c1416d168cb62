package org.tilespark.spark.source.contiguous;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.util.zip.GZIPInputStream;
import java.util.zip.ZipException;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.tilespark.spark.source.StoredInput;

/**
 * The decompressed bytes of a gzip file. They can only be read forward: a position before the last
 * one starts again at the file's first byte, so callers read in ascending order. Memory does not
 * grow with the file. Used by one thread.
 */
final class GzipInput implements StoredInput {
  private static final int BUFFER_BYTES = 64 << 10;

  private final FileSystem store;
  private final Path path;
  private final byte[] heap = new byte[HEAP_BYTES];
  private InputStream stream; // null until opened
  private long at; // decompressed bytes that were read

  GzipInput(FileSystem store, Path path) {
    this.store = store;
    this.path = path;
  }

  /** Not known before everything is decompressed. */
  @Override
  public long length() {
    throw new UnsupportedOperationException("the decompressed length of " + path);
  }

  @Override
  public void read(long position, ArrowBuf target, long offset, long bytes) throws IOException {
    if (stream == null || position < at) {
      close();
      stream = new GZIPInputStream(store.open(path), BUFFER_BYTES);
      at = 0;
    }
    while (at < position) {
      next(position - at, position + bytes);
    }
    long done = 0;
    while (done < bytes) {
      int count = next(bytes - done, position + bytes);
      target.setBytes(offset + done, heap, 0, count);
      done += count;
    }
  }

  /** Reads at most {@code most} bytes into the heap; returns their count. */
  private int next(long most, long end) throws IOException {
    int count;
    try {
      count = stream.read(heap, 0, (int) Math.min(heap.length, most));
    } catch (ZipException | EOFException e) {
      throw new IllegalArgumentException(
          "%s: the gzip stream is damaged or cut off after %s bytes (%s); expected %s or more"
              .formatted(path, at, e.getMessage(), end),
          e);
    }
    if (count < 0) {
      throw new IllegalArgumentException(
          "%s: the gzip stream has %s bytes; expected %s or more".formatted(path, at, end));
    }
    at += count;
    return count;
  }

  @Override
  public void close() throws IOException {
    if (stream != null) {
      stream.close();
      stream = null;
    }
  }
}
