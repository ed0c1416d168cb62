package org.tilespark.arrow.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.ResourceException;

class FaultyMemorySourceTest {
  @Test
  void oneOfEveryNIsRefusedAndLeavesNothing() {
    try (NativeMemorySource source = new NativeMemorySource(0);
        ArrowMemory memory =
            new ArrowMemory(FaultyMemorySource.of(source, new AllocationFaults(5, 1)));
        BufferAllocator allocator = memory.newChild("test")) {
      int refused = 0;
      for (int i = 0; i < 100; i++) {
        try (ArrowBuf buffer = allocator.buffer(1 << 10)) {
          buffer.setLong(0, i);
        } catch (ResourceException e) {
          assertTrue(e.getMessage().contains("1024 bytes of plain host memory"), e.getMessage());
          refused++;
        }
        assertEquals(0, memory.allocatedBytes());
      }
      assertEquals(20, refused);
    }
  }

  @Test
  void withoutFaultsNothingStandsBetween() {
    try (NativeMemorySource source = new NativeMemorySource(0)) {
      assertSame(source, FaultyMemorySource.of(source, AllocationFaults.NONE));
    }
  }
}
