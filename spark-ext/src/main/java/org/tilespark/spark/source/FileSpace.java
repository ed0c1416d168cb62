package org.tilespark.spark.source;

import com.sun.jna.LastErrorException;
import com.sun.jna.Native;
import com.sun.jna.NativeLibrary;
import com.sun.jna.NativeLong;
import com.sun.jna.Pointer;
import java.io.Closeable;
import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicIntegerArray;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.kernels.memory.HostMemory;

/**
 * Reserves the space of one file part by part, before data is stored through a memory mapping: a
 * full disk is then an error, while a store to a mapping would end the process. All tasks of a
 * process share the reservations, so that each part is reserved once. A thread reserves the parts
 * in order while the tasks still compute. Thread-safe.
 *
 * <p>This is {@code fallocate} of Linux and not {@code posix_fallocate}, which writes zeros if the
 * file system cannot reserve, and so may overwrite data of other tasks.
 */
final class FileSpace implements Closeable {
  private static final Logger LOG = LoggerFactory.getLogger(FileSpace.class);

  /**
   * Least bytes of a part: large, for few calls and long extents on the disk, but small enough that
   * a task does not wait long for one.
   */
  private static final long PART_BYTES = 16L << 20;

  private static final long MOST_PARTS = 1 << 16;

  private static final int READ_WRITE = 2;
  private static final int INTERRUPTED = 4;
  private static final int DONT_NEED = 4;

  /** Spaces that writers of this process have open, by their hidden files; guarded by this map. */
  private static final Map<Path, FileSpace> OPEN = new HashMap<>();

  private final Path file;
  private final long fileBytes;
  private final long partBytes;
  private final AtomicIntegerArray parts; // 1 for a reserved part; written under the lock of this
  private final int descriptor;
  private int users; // guarded by OPEN
  private boolean closed; // guarded by this

  private FileSpace(Path file, long fileBytes) {
    this.file = file;
    this.fileBytes = fileBytes;
    this.partBytes = PART_BYTES * (1 + fileBytes / (PART_BYTES * MOST_PARTS));
    this.parts = new AtomicIntegerArray(Math.toIntExact(1 + (fileBytes - 1) / partBytes));
    this.descriptor = LibC.open(file.toString(), READ_WRITE);
  }

  /**
   * The space of a file.
   *
   * @param fileBytes length of the file, 1 or more
   * @return the space, which the caller closes, or why none can be reserved
   */
  static Availability<FileSpace> open(Path file, long fileBytes) {
    synchronized (OPEN) {
      FileSpace space = OPEN.get(file);
      if (space == null) {
        try {
          space = new FileSpace(file, fileBytes);
        } catch (LastErrorException | LinkageError e) {
          return Availability.not(e.toString());
        }
        try {
          // Byte 0 exists already: the call only shows if the file system can reserve
          LibC.fallocate(space.descriptor, 0, 0, 1);
        } catch (LastErrorException e) {
          LibC.close(space.descriptor);
          return Availability.not("the file system reserves no space: " + e.getMessage());
        }
        OPEN.put(file, space);
        space.reserveAhead();
      }
      space.users++;
      return Availability.of(space);
    }
  }

  /**
   * Returns when the space of these bytes of the file is reserved.
   *
   * @throws IOException if the disk is full; the message has the system's words
   */
  void reserve(long position, long bytes) throws IOException {
    int last = (int) ((position + bytes - 1) / partBytes);
    for (int part = (int) (position / partBytes); part <= last; part++) {
      if (parts.get(part) == 0) {
        reserve(part);
      }
    }
  }

  private void reserveAhead() {
    if (parts.length() == 1) {
      return;
    }
    Thread thread =
        new Thread(
            () -> {
              try {
                for (int part = 0; part < parts.length(); part++) {
                  reserve(part);
                }
              } catch (IOException e) {
                LOG.debug("{}: no more space ahead of the tasks, which will say so", file, e);
              }
            },
            "tilespark-file-space");
    thread.setDaemon(true);
    thread.start();
  }

  /**
   * Reserves one part. Calls run one at a time: the system has a lock for each file, on which
   * concurrent calls would spin.
   */
  private synchronized void reserve(int part) throws IOException {
    long start = part * partBytes;
    while (parts.get(part) == 0) {
      if (closed) { // all tasks have written their blocks
        return;
      }
      try {
        LibC.fallocate(descriptor, 0, start, Math.min(partBytes, fileBytes - start));
        parts.set(part, 1);
      } catch (LastErrorException e) {
        if (Thread.currentThread().isInterrupted()) {
          throw new ClosedByInterruptException(); // the task is killed
        }
        if (e.getErrorCode() != INTERRUPTED) {
          throw new IOException(e.getMessage(), e);
        }
      }
    }
  }

  /**
   * Removes the pages of a shared mapping from this process; the file keeps their content.
   *
   * @param mapped a whole mapping
   * @return false if the system refuses
   */
  static boolean giveUpPages(HostMemory mapped) {
    try {
      LibC.madvise(new Pointer(mapped.offset()), new NativeLong(mapped.bytes()), DONT_NEED);
      return true;
    } catch (LastErrorException e) {
      return false;
    }
  }

  @Override
  public void close() {
    synchronized (OPEN) {
      users--;
      if (users == 0) {
        OPEN.remove(file);
        closeFile();
      }
    }
  }

  /** Closes the file once no part of it is being reserved. */
  private synchronized void closeFile() {
    closed = true;
    LibC.close(descriptor);
  }

  /** The C library of this process. */
  private static final class LibC {
    static {
      Native.register(LibC.class, NativeLibrary.getProcess());
    }

    static native int open(String path, int flags) throws LastErrorException;

    static native int fallocate(int descriptor, int mode, long offset, long bytes)
        throws LastErrorException;

    static native int close(int descriptor) throws LastErrorException;

    static native int madvise(Pointer address, NativeLong bytes, int advice)
        throws LastErrorException;
  }
}
