package org.tilespark.arrow.pipeline;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class TaskScopeTest {
  private final List<String> closed = new ArrayList<>();
  private final TaskScope scope = new TaskScope();

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
    scope.own(named("allocator", null));
    AutoCloseable pipeline = scope.own(named("pipeline", null));
    scope.ownUsedBy(pipeline, named("buffers", null));
    scope.own(named("metrics", null));
    scope.close();
    assertEquals(List.of("metrics", "pipeline", "buffers", "allocator"), closed);
    scope.close();
    assertEquals(4, closed.size(), "closed twice");
  }

  @Test
  void allAreClosedWhateverTheFirstThrows() {
    for (Throwable first :
        List.of(new IllegalStateException("first"), new StackOverflowError("first"))) {
      closed.clear();
      IllegalStateException second = new IllegalStateException("second");
      Exception third = new Exception("third");
      scope.own(named("d", null));
      scope.own(named("c", third));
      scope.own(named("b", second));
      scope.own(named("a", first));
      Throwable thrown = assertThrows(first.getClass(), scope::close);
      assertSame(first, thrown);
      assertEquals(List.of("a", "b", "c", "d"), closed);
      assertSame(second, thrown.getSuppressed()[0]);
      assertSame(third, thrown.getSuppressed()[1].getCause());
    }
  }

  @Test
  void whatWasOpenedIsClosedWhenOpeningFails() {
    IllegalArgumentException failure = new IllegalArgumentException("third");
    RuntimeException thrown =
        assertThrows(
            IllegalArgumentException.class,
            () ->
                TaskScope.opening(
                    opening -> {
                      opening.own(named("first", null));
                      opening.own(named("second", null));
                      throw failure;
                    }));
    assertSame(failure, thrown);
    assertEquals(List.of("second", "first"), closed);
  }
}
