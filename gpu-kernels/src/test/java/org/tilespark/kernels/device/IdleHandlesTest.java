package org.tilespark.kernels.device;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;

class IdleHandlesTest {
  @Test
  void keepsSoManyAndGivesTheLastFirst() {
    IdleHandles<String> handles = new IdleHandles<>(2);
    assertNull(handles.take());
    assertTrue(handles.offer("a"));
    assertTrue(handles.offer("b"));
    assertFalse(handles.offer("c"));
    assertEquals("b", handles.take());
    assertTrue(handles.offer("d"));
    assertEquals(List.of("d", "a"), handles.shut());
    assertFalse(handles.offer("e"), "shut");
    assertNull(handles.take());
  }
}
