package org.tilespark.arrow.memory;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * Counts the users of something that its owner may give up while others use it: the last user frees
 * it. The owner is the first user. Thread-safe.
 */
public final class Uses {
  private final String what;
  private final Runnable freeing;
  private final AtomicInteger users = new AtomicInteger(1);

  /**
   * One user, the owner.
   *
   * @param what names it in messages, as in "The memory of images"
   * @param freeing frees it; called once, on the thread of the last user
   */
  public Uses(String what, Runnable freeing) {
    this.what = what;
    this.freeing = freeing;
  }

  /** Adds a user, who {@link #release}s it; false if it has been freed. */
  public boolean retain() {
    return users.getAndUpdate(n -> n == 0 ? 0 : n + 1) > 0;
  }

  /** True if more than one user keeps it. */
  public boolean areShared() {
    return users.get() > 1;
  }

  /**
   * Ends one use; the last one frees it.
   *
   * @return true if it was the last one
   * @throws IllegalStateException if all users have released it already
   */
  public boolean release() {
    int left = users.decrementAndGet();
    if (left < 0) {
      throw new IllegalStateException(what + " was released more often than retained");
    }
    if (left == 0) {
      freeing.run();
    }
    return left == 0;
  }
}
