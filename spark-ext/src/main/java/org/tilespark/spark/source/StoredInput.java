package org.tilespark.spark.source;

import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.FileChannel;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletionException;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileRange;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.util.functional.FutureIO;

/** An open object of a store, read by position into memory outside the heap. Used by one thread. */
public interface StoredInput extends Closeable {
  /** Bytes that are copied through the heap at a time, if a file system offers no other way. */
  int HEAP_BYTES = 1 << 20;

  /** The access pattern of an object, by which file systems choose their requests. */
  enum Use {
    /** The whole object, from the first byte to the last. */
    WHOLE("whole-file"),
    /** Parts of the object, each of which is read forward. */
    PARTS("adaptive"),
    /** Ranges that are far from each other. */
    RANGES("vector, random");

    private final String policy; // of Hadoop's option fs.option.openfile.read.policy

    Use(String policy) {
      this.policy = policy;
    }
  }

  /**
   * A range of the object, and the place of its bytes in the target.
   *
   * @param position first byte in the object
   * @param bytes length of the range, 1 or more
   * @param target index of its first byte in the target
   */
  record Range(long position, int bytes, long target) {}

  /** Length of the object, in bytes. */
  long length() throws IOException;

  /**
   * Reads exactly {@code bytes} bytes.
   *
   * @param position position in the file
   * @param target memory for the bytes; borrowed
   * @param offset offset in {@code target}, in bytes
   * @throws EOFException if the file ends before
   */
  void read(long position, ArrowBuf target, long offset, long bytes) throws IOException;

  /**
   * Reads several ranges, in parallel if the file system supports it.
   *
   * @param target memory for the bytes; borrowed; has room for all ranges
   * @throws EOFException if the object ends before one of them
   */
  default void read(List<Range> ranges, ArrowBuf target) throws IOException {
    for (Range range : ranges) {
      read(range.position, target, range.target, range.bytes);
    }
  }

  /**
   * Opens an object: local ones directly, others through Hadoop.
   *
   * @throws java.nio.file.NoSuchFileException or java.io.FileNotFoundException if it does not exist
   */
  static StoredInput open(Path path, Configuration conf, Use use) throws IOException {
    return StorePaths.isLocal(path) ? new LocalInput(path) : new HadoopInput(path, conf, use);
  }

  /** Reads a local object directly into the target. */
  final class LocalInput implements StoredInput {
    private final Path path;
    private final FileChannel channel;

    LocalInput(Path path) throws IOException {
      this.path = path;
      this.channel = FileChannel.open(StorePaths.localPath(path), StandardOpenOption.READ);
    }

    @Override
    public long length() throws IOException {
      return channel.size();
    }

    @Override
    public void read(long position, ArrowBuf target, long offset, long bytes) throws IOException {
      ByteBuffer buffer = target.nioBuffer(offset, Math.toIntExact(bytes));
      long at = position;
      while (buffer.hasRemaining()) {
        int read = read(buffer, at);
        if (read < 0) {
          throw ended(path, at, position + bytes);
        }
        at += read;
      }
    }

    private int read(ByteBuffer buffer, long at) throws IOException {
      try {
        return channel.read(buffer, at);
      } catch (ClosedByInterruptException e) {
        throw e; // the task is killed
      } catch (IOException e) { // the system's message has no path
        throw new IOException(
            "Cannot read " + path + " at byte " + at + ": " + IoReasons.reason(e), e);
      }
    }

    @Override
    public void close() throws IOException {
      channel.close();
    }
  }

  /**
   * Reads an object through Hadoop: seeks and reads forward, which remote streams can serve from
   * one request.
   */
  final class HadoopInput implements StoredInput {
    private final Path path;
    private final long length;
    private final FSDataInputStream stream;
    private byte[] heap; // null until needed

    HadoopInput(Path path, Configuration conf, Use use) throws IOException {
      this.path = path;
      FileSystem fileSystem = path.getFileSystem(conf);
      FileStatus status = fileSystem.getFileStatus(path);
      this.length = status.getLen();
      this.stream =
          FutureIO.awaitFuture(
              fileSystem
                  .openFile(path)
                  .withFileStatus(status) // spares object stores a second request for it
                  .opt("fs.option.openfile.read.policy", use.policy)
                  .build());
    }

    @Override
    public long length() {
      return length;
    }

    @Override
    public void read(long position, ArrowBuf target, long offset, long bytes) throws IOException {
      if (heap == null) {
        heap = new byte[(int) Math.max(1, Math.min(HEAP_BYTES, length))];
      }
      if (stream.getPos() != position) {
        stream.seek(position);
      }
      long done = 0;
      while (done < bytes) {
        int read = stream.read(heap, 0, (int) Math.min(heap.length, bytes - done));
        if (read < 0) {
          throw ended(path, position + done, position + bytes);
        }
        target.setBytes(offset + done, heap, 0, read);
        done += read;
      }
    }

    @Override
    public void read(List<Range> ranges, ArrowBuf target) throws IOException {
      List<Range> sorted = new ArrayList<>(ranges);
      sorted.sort(Comparator.comparingLong(Range::position));
      long end = 0;
      boolean apart = true;
      for (Range range : sorted) {
        apart &= range.position >= end;
        end = Math.max(end, range.position + range.bytes);
      }
      if (end > length) {
        throw ended(path, length, end);
      }
      if (!apart || sorted.size() < 2) { // readVectored refuses ranges that overlap
        StoredInput.super.read(sorted, target);
        return;
      }
      List<FileRange> asked =
          sorted.stream()
              .map(each -> FileRange.createFileRange(each.position, each.bytes))
              .toList();
      stream.readVectored(asked, ByteBuffer::allocate);
      for (int i = 0; i < asked.size(); i++) {
        ByteBuffer data = await(asked.get(i));
        target.setBytes(sorted.get(i).target, data);
      }
    }

    private ByteBuffer await(FileRange range) throws IOException {
      try {
        return FutureIO.awaitFuture(range.getData());
      } catch (CompletionException | CancellationException e) {
        throw new IOException("Cannot read " + path + " at byte " + range.getOffset(), e);
      }
    }

    @Override
    public void close() throws IOException {
      stream.close();
    }
  }

  private static EOFException ended(Path path, long at, long expected) {
    return new EOFException(
        ("%s ends at byte %s; expected at least %s (was it changed since the DataFrame"
                + " was made?)")
            .formatted(path, at, expected));
  }
}
