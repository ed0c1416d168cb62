package org.tilespark.spark.runtime;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.TaskContext;
import org.apache.spark.util.TaskCompletionListener;
import org.tilespark.arrow.pipeline.Closing;

/**
 * What a task owns, closed when it succeeds, fails or is killed: users before what they use, and
 * all of it, whatever the first of them throws. For the task's thread only.
 */
public final class TaskResources implements TaskCompletionListener {
  private final List<AutoCloseable> owned = new ArrayList<>(); // in the order of closing

  /** Resources that the end of a task closes. */
  public static TaskResources of(TaskContext task) {
    TaskResources resources = new TaskResources();
    task.addTaskCompletionListener(resources);
    return resources;
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
   * Closes all.
   *
   * @throws RuntimeException or Error: the first failure, with the others suppressed
   */
  @Override
  public void onTaskCompletion(TaskContext context) {
    List<AutoCloseable> closing = List.copyOf(owned);
    owned.clear();
    Closing.all(closing);
  }
}
