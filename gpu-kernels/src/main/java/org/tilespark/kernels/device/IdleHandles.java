package org.tilespark.kernels.device;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;

/**
 * Idle handles of the driver, kept for the next caller: making and destroying a stream for every
 * task costs time, and memory of the process that the driver does not give back at once. The handle
 * that was used last is taken first. Thread-safe.
 *
 * @param <T> type of the handles
 */
final class IdleHandles<T> {
  private final int most;
  private final Deque<T> idle = new ArrayDeque<>();
  private boolean shut;

  /** Keeps at most {@code most} handles. */
  IdleHandles(int most) {
    this.most = most;
  }

  /** A kept handle, which is the caller's from now on; empty if there is none. */
  synchronized Optional<T> take() {
    return Optional.ofNullable(idle.poll());
  }

  /** Keeps a handle; false if it is not kept, so that the caller must destroy it. */
  synchronized boolean offer(T handle) {
    if (shut || idle.size() >= most) {
      return false;
    }
    idle.push(handle);
    return true;
  }

  /** Returns all kept handles, which the caller destroys; no handle is kept from now on. */
  synchronized List<T> shut() {
    shut = true;
    List<T> all = new ArrayList<>(idle);
    idle.clear();
    return all;
  }
}
