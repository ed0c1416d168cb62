package org.tilespark.arrow.pipeline;

import java.util.Collection;
import java.util.List;

/**
 * Closes several resources, all of them even if some fail: after a lost device every close fails.
 */
public final class Closing {
  private Closing() {}

  /**
   * Closes all of {@code owned}, in order.
   *
   * @throws RuntimeException or Error: the first failure, with the others suppressed; a checked
   *     exception is thrown as the cause of an {@link IllegalStateException}
   */
  public static void all(Collection<? extends AutoCloseable> owned) {
    Throwable failure = null;
    for (AutoCloseable each : owned) {
      try {
        each.close();
      } catch (Throwable e) {
        Throwable unchecked =
            e instanceof RuntimeException || e instanceof Error ? e : new IllegalStateException(e);
        if (failure == null) {
          failure = unchecked;
        } else if (failure != unchecked) {
          failure.addSuppressed(unchecked);
        }
      }
    }
    if (failure instanceof Error error) {
      throw error;
    }
    if (failure != null) {
      throw (RuntimeException) failure;
    }
  }

  /**
   * Removes all resources from a collection and closes them, as {@link #all}; so each is closed
   * once.
   */
  public static void emptied(Collection<? extends AutoCloseable> owned) {
    List<? extends AutoCloseable> closing = List.copyOf(owned);
    owned.clear();
    all(closing);
  }
}
