package org.tilespark.arrow;

import java.util.List;

/** Closes many things, all of them, also when some fail: after a lost device every one does. */
final class Closing {
  private Closing() {}

  /**
   * Closes all, in order.
   *
   * @throws RuntimeException the first failure, with the others suppressed
   */
  static void all(List<? extends AutoCloseable> owned) {
    RuntimeException failure = null;
    for (AutoCloseable each : owned) {
      try {
        each.close();
      } catch (Exception e) {
        RuntimeException unchecked =
            e instanceof RuntimeException r ? r : new IllegalStateException(e);
        if (failure == null) {
          failure = unchecked;
        } else {
          failure.addSuppressed(unchecked);
        }
      }
    }
    if (failure != null) {
      throw failure;
    }
  }
}
