package org.tilespark.arrow.pipeline;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class TaskScopeTest {
  private final List<String> closed = new ArrayList<>();

  private AutoCloseable named(String name) {
    return () -> closed.add(name);
  }

  @Test
  void theLastOpenedIsClosedFirst() {
    TaskScope scope = new TaskScope();
    scope.own(named("allocator"));
    AutoCloseable pipeline = scope.own(named("pipeline"));
    scope.ownUsedBy(pipeline, named("buffers"));
    scope.close();
    scope.close();
    assertEquals(List.of("pipeline", "buffers", "allocator"), closed);
  }

  @Test
  void allIsClosedWhenClosingFails() {
    TaskScope scope = new TaskScope();
    IllegalStateException first = new IllegalStateException("first");
    scope.own(named("a"));
    scope.own(
        () -> {
          throw new java.io.IOException("second");
        });
    scope.own(
        () -> {
          throw first;
        });
    assertSame(first, assertThrows(IllegalStateException.class, scope::close));
    assertEquals(List.of("a"), closed);
    assertEquals("second", first.getSuppressed()[0].getCause().getMessage());
  }

  @Test
  void whatWasOpenedIsClosedWhenOpeningFails() {
    IllegalArgumentException failure = new IllegalArgumentException("third");
    RuntimeException thrown =
        assertThrows(
            IllegalArgumentException.class,
            () ->
                TaskScope.opening(
                    scope -> {
                      scope.own(named("first"));
                      scope.own(named("second"));
                      throw failure;
                    }));
    assertSame(failure, thrown);
    assertEquals(List.of("second", "first"), closed);
  }
}
