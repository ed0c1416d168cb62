package org.tilespark.kernels.device;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class IdleHandlesTest {
  @Test
  void keepsSoManyAndGivesTheLastFirst() {
    IdleHandles<String> handles = new IdleHandles<>(2);
    assertEquals(Optional.empty(), handles.take());
    assertTrue(handles.offer("a"));
    assertTrue(handles.offer("b"));
    assertFalse(handles.offer("c"));
    assertEquals(Optional.of("b"), handles.take());
    assertTrue(handles.offer("d"));
    assertEquals(List.of("d", "a"), handles.shut());
    assertFalse(handles.offer("e"), "shut");
    assertEquals(Optional.empty(), handles.take());
  }
}
