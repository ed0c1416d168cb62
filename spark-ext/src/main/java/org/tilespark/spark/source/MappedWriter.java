package org.tilespark.spark.source;

import java.io.IOException;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.tilespark.kernels.memory.HostMemory;

/**
 * Writes through memory mappings of the file, in windows that stay until the writer is done, since
 * other threads' stores wait while a window is mapped or unmapped. The file's space is reserved
 * before. The pages of all windows are released whenever the limit of resident bytes is reached,
 * since a container's memory accounting includes mapped pages.
 */
final class MappedWriter extends PosixWriter {
  static final long WINDOW_BYTES = 1L << 30;
  private static final long RESIDENT_BYTES = 64L << 20;
  private static final long PAGE_BYTES = 4096;

  /**
   * Most windows of a writer; Linux allows 65,530 mappings in a process by default ({@code
   * vm.max_map_count}).
   */
  private static final int MOST_WINDOWS = 256;

  private final FileSpace space; // owned
  // Owned windows, by their numbers
  private final Map<Long, MappedByteBuffer> windows = new HashMap<>();
  private HostMemory memory; // memory of the current window; null if there is none
  private long start; // place of that window in the file
  private long touched; // bytes stored to windows since pages were last released

  /**
   * A writer.
   *
   * @param channel channel for reading and writing; this writer closes it
   * @param space space of the file; this writer closes it
   */
  MappedWriter(Path file, long fileBytes, FileChannel channel, FileSpace space) {
    super(file, fileBytes, channel);
    this.space = space;
  }

  @Override
  public HostMemory room(long position, long bytes) throws IOException {
    if (touched >= RESIDENT_BYTES) {
      giveUpPages();
    }
    if (memory == null || position < start || position >= start + memory.bytes()) {
      select(position);
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

  private void giveUpPages() {
    boolean isGivenUp = true;
    for (MappedByteBuffer window : windows.values()) {
      isGivenUp &= FileSpace.giveUpPages(HostMemory.ofDirectBuffer(window));
    }
    if (!isGivenUp) {
      flush();
    }
    touched = 0;
  }

  /** Makes the window that contains a position of the file the current one. */
  private void select(long position) throws IOException {
    long number = position / WINDOW_BYTES;
    MappedByteBuffer window = windows.get(number);
    if (window == null) {
      if (windows.size() == MOST_WINDOWS) {
        flush();
      }
      long from = number * WINDOW_BYTES;
      long bytes = Math.min(WINDOW_BYTES, fileBytes - from);
      try {
        window = channel.map(MapMode.READ_WRITE, from, bytes);
      } catch (IOException e) {
        throw notWritten(bytes, from, e);
      }
      windows.put(number, window);
    }
    memory = HostMemory.ofDirectBuffer(window);
    start = number * WINDOW_BYTES;
  }

  /** Unmaps the windows; stored data is visible to the system even before that. */
  @Override
  protected void flush() {
    List<MappedByteBuffer> last = List.copyOf(windows.values());
    windows.clear();
    memory = null;
    last.forEach(HostMemory.unsafe()::invokeCleaner);
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
