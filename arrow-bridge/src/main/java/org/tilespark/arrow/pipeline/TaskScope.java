package org.tilespark.arrow.pipeline;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/**
 * Resources that a task or an object opens and must close: they are closed in reverse order, and
 * all of them, whatever one of them throws. For one thread at a time.
 *
 * <pre>{@code
 * static Lane open(CudaDevice device) {
 *   return TaskScope.opening(scope -> new Lane(scope, device)); // a failure closes what was opened
 * }
 * }</pre>
 */
public final class TaskScope implements AutoCloseable {
  private final List<AutoCloseable> owned = new ArrayList<>(); // in the order of closing

  /** A scope that owns nothing. */
  public TaskScope() {}

  /**
   * Opens an object that consists of several resources.
   *
   * @param opening opens them, gives each to the scope, and returns the object, which closes the
   *     scope in its own {@code close}
   * @throws RuntimeException or Error: what {@code opening} throws, after what it had opened is
   *     closed; failures of closing are suppressed in it
   */
  public static <T> T opening(Function<TaskScope, T> opening) {
    TaskScope scope = new TaskScope();
    try {
      return opening.apply(scope);
    } catch (Throwable failure) {
      try {
        scope.close();
      } catch (Throwable second) {
        failure.addSuppressed(second);
      }
      throw failure;
    }
  }

  /** Takes a resource, which is closed before those that were taken until now. */
  public <T extends AutoCloseable> T own(T resource) {
    owned.add(0, resource);
    return resource;
  }

  /** Takes a resource, which is closed right after another one that uses it. */
  public <T extends AutoCloseable> T ownUsedBy(AutoCloseable user, T resource) {
    owned.add(owned.indexOf(user) + 1, resource);
    return resource;
  }

  /**
   * Closes all. May be called again: closes what was taken since then.
   *
   * @throws RuntimeException or Error: the first failure, with the others suppressed; a checked
   *     exception comes as the cause of an {@link IllegalStateException}
   */
  @Override
  public void close() {
    Closing.emptied(owned);
  }
}
