package org.tilespark.spark.source;

import java.io.IOException;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Path;
import org.tilespark.kernels.memory.HostMemory;

/**
 * Stores into mappings of the file, one window at a time, whose space is reserved before. The pages
 * of a window are given up as soon as as many bytes were stored as may stay resident: accounts of a
 * container's memory count mapped pages too.
 */
final class MappedWriter extends PosixWriter {
  static final long WINDOW_BYTES = 1L << 30;
  private static final long RESIDENT_BYTES = 64L << 20;
  private static final long PAGE_BYTES = 4096;

  private final FileSpace space; // owned
  private MappedByteBuffer window; // owned; null until needed
  private HostMemory memory; // of the window
  private long start; // of the window in the file
  private long touched; // bytes of the window's pages that were stored to, counted each time

  /**
   * A writer.
   *
   * @param channel taken, for reading and writing
   * @param space taken
   */
  MappedWriter(Path file, long fileBytes, FileChannel channel, FileSpace space) {
    super(file, fileBytes, channel);
    this.space = space;
  }

  @Override
  public HostMemory room(long position, long bytes) throws IOException {
    if (window == null || position < start || position >= start + memory.bytes()) {
      map(position);
    } else if (touched >= RESIDENT_BYTES) {
      giveUpPages();
    }
    long offset = position - start;
    long room = Math.min(Math.min(bytes, memory.bytes() - offset), RESIDENT_BYTES);
    try {
      space.reserve(position, room);
    } catch (IOException e) {
      throw notWritten(bytes, position, e);
    }
    long last = offset + room - 1;
    touched += (last / PAGE_BYTES - offset / PAGE_BYTES + 1) * PAGE_BYTES;
    return memory.slice(offset, room);
  }

  /** Leaves the mapping as it is: other threads' stores wait while one is made or removed. */
  private void giveUpPages() throws IOException {
    if (!FileSpace.giveUpPages(memory)) {
      map(start);
    }
    touched = 0;
  }

  private void map(long position) throws IOException {
    flush();
    start = position / WINDOW_BYTES * WINDOW_BYTES;
    long bytes = Math.min(WINDOW_BYTES, fileBytes - start);
    try {
      window = channel.map(MapMode.READ_WRITE, start, bytes);
    } catch (IOException e) {
      throw notWritten(bytes, start, e);
    }
    memory = HostMemory.ofDirectBuffer(window);
    touched = 0;
  }

  /** Unmaps the window: the system has what was stored at once, also before that. */
  @Override
  protected void flush() {
    if (window != null) {
      MappedByteBuffer last = window;
      window = null;
      memory = null;
      HostMemory.unsafe().invokeCleaner(last);
    }
  }

  @Override
  public void close() throws IOException {
    flush();
    try {
      space.close();
    } finally {
      super.close();
    }
  }
}
