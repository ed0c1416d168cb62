package org.tilespark.spark.rows;

import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;

/** Frees a resource when its owner has closed this and every use has ended. Thread-safe. */
public final class SharedUse implements AutoCloseable {
  private final Runnable free;
  private int users = 1; // guarded by this
  private final AtomicBoolean closed = new AtomicBoolean();

  /** Calls {@code free} once, in the thread that ends the last use. */
  public SharedUse(Runnable free) {
    this.free = free;
  }

  /** A further use; empty if the resource was freed. */
  public synchronized Optional<RetainableRows.Use> begin() {
    if (users == 0) {
      return Optional.empty();
    }
    users++;
    AtomicBoolean ended = new AtomicBoolean();
    return Optional.of(
        () -> {
          if (!ended.getAndSet(true)) {
            end();
          }
        });
  }

  private void end() {
    boolean isLast;
    synchronized (this) {
      users--;
      isLast = users == 0;
    }
    if (isLast) {
      free.run();
    }
  }

  /** Ends the owner's use of the resource. May be called twice. */
  @Override
  public void close() {
    if (!closed.getAndSet(true)) {
      end();
    }
  }
}
