package org.tilespark.arrow.memory;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * Counts the users of a shared resource. Its owner may release it while others still use it; the
 * last user frees it. The owner is the first user. Thread-safe.
 */
public final class Uses {
  private final String what;
  private final Runnable freeing;
  private final AtomicInteger users = new AtomicInteger(1);

  /**
   * A resource with one user, the owner.
   *
   * @param what name of the resource in messages, as in "The memory of images"
   * @param freeing frees the resource; called once, on the thread of the last user
   */
  public Uses(String what, Runnable freeing) {
    this.what = what;
    this.freeing = freeing;
  }

  /** Adds a user, who must {@link #release} the resource; false if it has been freed. */
  public boolean retain() {
    return users.getAndUpdate(n -> n == 0 ? 0 : n + 1) > 0;
  }

  /** True if the resource has more than one user now. */
  public boolean areShared() {
    return users.get() > 1;
  }

  /**
   * Ends one use; the last one frees the resource.
   *
   * @return true if it was the last use
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
