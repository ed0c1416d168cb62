package org.tilespark.spark.source.npy;

import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.FileChannel;
import java.nio.file.StandardOpenOption;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.Path;
import org.tilespark.spark.source.IoReasons;
import org.tilespark.spark.source.StorePaths;

/** An open file, read by position into memory outside the heap. Used by one thread. */
interface NpyInput extends Closeable {
  /** Bytes that travel through the heap at a time where a file system offers no other way. */
  int HEAP_BYTES = 1 << 20;

  /**
   * Reads exactly {@code bytes} bytes.
   *
   * @param position position in the file
   * @param target borrowed
   * @param offset offset in {@code target}, in bytes
   * @throws EOFException if the file ends before
   */
  void read(long position, ArrowBuf target, long offset, long bytes) throws IOException;

  /** Opens a file: local ones directly, all others through Hadoop. */
  static NpyInput open(Path path, Configuration conf) throws IOException {
    return StorePaths.isLocal(path) ? new LocalInput(path) : new HadoopInput(path, conf);
  }

  /** Reads straight into the target. */
  final class LocalInput implements NpyInput {
    private final Path path;
    private final FileChannel channel;

    LocalInput(Path path) throws IOException {
      this.path = path;
      this.channel = FileChannel.open(StorePaths.localPath(path), StandardOpenOption.READ);
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
      } catch (IOException e) { // the system's words, without a path
        throw new IOException(
            "Cannot read " + path + " at byte " + at + ": " + IoReasons.reason(e), e);
      }
    }

    @Override
    public void close() throws IOException {
      channel.close();
    }
  }

  /** Seeks and reads forward, which remote streams serve from one request where they can. */
  final class HadoopInput implements NpyInput {
    private final Path path;
    private final FSDataInputStream stream;
    private final byte[] heap = new byte[HEAP_BYTES];

    HadoopInput(Path path, Configuration conf) throws IOException {
      this.path = path;
      this.stream = path.getFileSystem(conf).open(path);
    }

    @Override
    public void read(long position, ArrowBuf target, long offset, long bytes) throws IOException {
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
