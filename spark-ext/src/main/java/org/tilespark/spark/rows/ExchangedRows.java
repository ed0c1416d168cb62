package org.tilespark.spark.rows;

import java.util.Optional;

/**
 * The exchange or the cache that takes the rows of this thread's task as they are made, if there is
 * one. Rows are made in its memory, so that it need not copy them.
 */
public final class ExchangedRows {
  /** Gives memory for rows, one after the other. */
  public interface Room {
    /**
     * The address of {@code bytes} bytes for a row of {@code fields} fields; 0 if there is no
     * memory, and the row has to be copied.
     */
    long room(long bytes, int fields);

    /** Keeps all of that memory until the result is run, also if the task fails. */
    Runnable hold();
  }

  private static final ThreadLocal<Room> TAKER = new ThreadLocal<>();

  private ExchangedRows() {}

  /** Runs {@code body}, whose rows {@code taker} takes. */
  public static <E extends Exception> void to(Room taker, Writing<E> body) throws E {
    Room outer = TAKER.get();
    TAKER.set(taker);
    try {
      body.run();
    } finally {
      if (outer == null) {
        TAKER.remove();
      } else {
        TAKER.set(outer); // a cache that is filled while an exchange reads it
      }
    }
  }

  /** Pulls rows and hands them to the exchange. */
  @FunctionalInterface
  public interface Writing<E extends Exception> {
    void run() throws E;
  }

  /** Who takes the rows of this thread's task as they are made; empty if nobody does. */
  static Optional<Room> taker() {
    return Optional.ofNullable(TAKER.get());
  }

  static long room(long bytes, int fields) {
    Room taker = TAKER.get();
    return taker == null ? 0 : taker.room(bytes, fields);
  }
}
