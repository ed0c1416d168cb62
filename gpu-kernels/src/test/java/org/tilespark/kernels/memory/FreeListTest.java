package org.tilespark.kernels.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

class FreeListTest {
  @Test
  void sizeClassesOfPinnedBuffers() {
    assertEquals(0, FreeList.sizeClass(0));
    assertEquals(4096, FreeList.sizeClass(1));
    assertEquals(4096, FreeList.sizeClass(4096));
    assertEquals(8192, FreeList.sizeClass(4097));
    assertEquals(1 << 20, FreeList.sizeClass(1 << 20));
    assertEquals(5 << 18, FreeList.sizeClass((1 << 20) + 1));
    assertEquals(7L << 30, FreeList.sizeClass((6L << 30) + 1));
    for (long bytes = 1; bytes < 1L << 40; bytes = bytes * 3 / 2 + 1) {
      long size = FreeList.sizeClass(bytes);
      assertTrue(size >= bytes, () -> "class too small");
      assertTrue(size <= Math.max(4096, bytes + bytes / 4 + 4096), () -> "class too large");
      assertEquals(size, FreeList.sizeClass(size));
    }
  }

  @Test
  void keepsUpToTheBoundAndGivesTheLatestFirst() {
    FreeList free = new FreeList(3 * 4096);
    assertTrue(free.offer(1, 4096));
    assertTrue(free.offer(2, 4096));
    assertFalse(free.offer(3, 8192));
    assertEquals(OptionalLong.of(2), free.take(4096));
    assertEquals(OptionalLong.empty(), free.take(8192));
    assertEquals(4096, free.cachedBytes());
    assertEquals(List.of(new FreeList.Block(1, 4096)), free.shut());
    assertFalse(free.offer(1, 4096));
    assertEquals(0, free.cachedBytes());
    assertThrows(IllegalArgumentException.class, () -> new FreeList(-1));
  }
}
