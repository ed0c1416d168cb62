package org.tilespark.arrow.pipeline;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/**
 * Owns resources that a task or an object opens: it closes all of them in reverse order, even if
 * one of them throws. For one thread at a time.
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
   * @param opening opens the resources, gives each to the scope, and returns the object, whose
   *     {@code close} must close the scope
   * @throws RuntimeException or Error: the exception of {@code opening}, after the opened resources
   *     are closed; failures of closing are suppressed in it
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

  /** Takes a resource, which will be closed before all resources taken earlier. */
  public <T extends AutoCloseable> T own(T resource) {
    owned.add(0, resource);
    return resource;
  }

  /** Takes a resource, which will be closed right after {@code user}, which uses it. */
  public <T extends AutoCloseable> T ownUsedBy(AutoCloseable user, T resource) {
    owned.add(owned.indexOf(user) + 1, resource);
    return resource;
  }

  /**
   * Closes all resources. May be called again to close resources taken since then.
   *
   * @throws RuntimeException or Error: the first failure, with the others suppressed; a checked
   *     exception is thrown as the cause of an {@link IllegalStateException}
   */
  @Override
  public void close() {
    Closing.emptied(owned);
  }
}
