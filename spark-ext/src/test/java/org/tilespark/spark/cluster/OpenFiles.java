package org.tilespark.spark.cluster;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Ends this process while it writes a file: Linux says which files it has open, by which a thread
 * finds the moment.
 */
final class OpenFiles {
  private static final AtomicReference<Path> WATCHED = new AtomicReference<>();

  private OpenFiles() {}

  /** The moment at which a process ends. */
  enum Moment {
    /** It has a temporary file open. */
    OPEN,
    /** It has given a file its name. */
    NAMED
  }

  /**
   * Ends the first process of all that is at this moment of a write. Returns at once; further calls
   * for the same mark do nothing.
   *
   * @param chunks files of chunks that must be there before
   * @param mark file that the process makes which ends
   */
  static void haltWriter(Path target, Moment moment, int chunks, Path mark) {
    if (mark.equals(WATCHED.getAndSet(mark))) {
      return;
    }
    Thread thread =
        new Thread(
            () -> {
              try {
                watch(target, moment, chunks, mark);
              } catch (IOException e) {
                throw new UncheckedIOException(e);
              }
            },
            "open-files");
    thread.setDaemon(true);
    thread.setPriority(Thread.MAX_PRIORITY);
    thread.start();
  }

  private static void watch(Path target, Moment moment, int chunks, Path mark) throws IOException {
    while (mark.equals(WATCHED.get()) && KilledZarrCases.chunks(target) < chunks) {
      Thread.onSpinWait();
    }
    while (mark.equals(WATCHED.get())) {
      Path open = openFile(target);
      if (open == null) {
        continue;
      }
      while (moment == Moment.NAMED && Files.exists(open)) {
        Thread.onSpinWait();
      }
      if (Interference.leave(mark)) {
        if (moment == Moment.NAMED || Files.exists(open)) {
          Runtime.getRuntime().halt(137);
        }
        Files.delete(mark); // the file has its name by now
      }
    }
  }

  /** A temporary file of the target that this process has open; null if there is none. */
  private static Path openFile(Path target) throws IOException {
    try (DirectoryStream<Path> files = Files.newDirectoryStream(Path.of("/proc/self/fd"))) {
      for (Path file : files) {
        try {
          Path open = Files.readSymbolicLink(file);
          if (open.startsWith(target) && open.toString().endsWith(".tmp")) {
            return open;
          }
        } catch (IOException e) {
          // It is closed by now.
        }
      }
    }
    return null;
  }
}
