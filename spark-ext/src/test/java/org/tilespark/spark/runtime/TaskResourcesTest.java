package org.tilespark.spark.runtime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class TaskResourcesTest {
  private final List<String> closed = new ArrayList<>();
  private final TaskResources resources = new TaskResources();

  private AutoCloseable named(String name, Throwable failure) {
    return () -> {
      closed.add(name);
      if (failure instanceof Error error) {
        throw error;
      }
      if (failure instanceof Exception exception) {
        throw exception;
      }
    };
  }

  @Test
  void usersAreClosedBeforeWhatTheyUse() {
    resources.own(named("allocator", null));
    AutoCloseable pipeline = resources.own(named("pipeline", null));
    resources.ownUsedBy(pipeline, named("buffers", null));
    resources.own(named("metrics", null));
    resources.onTaskCompletion(null);
    assertEquals(List.of("metrics", "pipeline", "buffers", "allocator"), closed);
    resources.onTaskCompletion(null);
    assertEquals(4, closed.size(), "closed twice");
  }

  @Test
  void allAreClosedWhateverTheFirstThrows() {
    for (Throwable first :
        List.of(new IllegalStateException("first"), new StackOverflowError("first"))) {
      closed.clear();
      IllegalStateException second = new IllegalStateException("second");
      Exception third = new Exception("third");
      resources.own(named("d", null));
      resources.own(named("c", third));
      resources.own(named("b", second));
      resources.own(named("a", first));
      Throwable thrown = assertThrows(first.getClass(), () -> resources.onTaskCompletion(null));
      assertSame(first, thrown);
      assertEquals(List.of("a", "b", "c", "d"), closed);
      assertSame(second, thrown.getSuppressed()[0]);
      assertSame(third, thrown.getSuppressed()[1].getCause());
    }
  }
}
