package org.tilespark.spark.rows;

import java.util.Optional;

/**
 * The exchange or the cache that takes the rows of this thread's task, if there is one. Rows are
 * written directly to its memory, so that it need not copy them.
 */
public final class RowSink {
  /** Gives memory for rows, one after the other. */
  public interface Room {
    /**
     * The address of {@code bytes} bytes for a row of {@code fields} fields; 0 if there is no
     * memory, so that the row must be copied later.
     */
    long room(long bytes, int fields);

    /** Keeps all memory given so far until the result is run, also if the task fails. */
    Runnable hold();
  }

  private static final ThreadLocal<Room> CURRENT = new ThreadLocal<>();

  private RowSink() {}

  /** Runs {@code body}, which writes its rows to {@code room}. */
  public static <E extends Exception> void to(Room room, Writing<E> body) throws E {
    Room outer = CURRENT.get();
    CURRENT.set(room);
    try {
      body.run();
    } finally {
      if (outer == null) {
        CURRENT.remove();
      } else {
        // A sink may be used inside another: a cache that is filled while an exchange reads it
        CURRENT.set(outer);
      }
    }
  }

  /** Pulls a task's rows and hands them to the exchange or cache. */
  @FunctionalInterface
  public interface Writing<E extends Exception> {
    void run() throws E;
  }

  /** The memory for the rows of this thread's task; empty if nothing takes them. */
  static Optional<Room> current() {
    return Optional.ofNullable(CURRENT.get());
  }
}
