package org.tilespark.arrow.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.complex.ListVector;
import org.junit.jupiter.api.Test;
import org.tilespark.arrow.blocks.BlockVectors;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.ElementType;

class BuffersTest {
  @Test
  void rangesStayInTheirBuffer() {
    try (ArrowMemory memory = new ArrowMemory(new NativeMemorySource(0));
        BufferAllocator allocator = memory.newChild("test");
        ArrowBuf buffer = allocator.buffer(64)) {
      assertEquals(
          HostMemory.ofAddress(buffer.memoryAddress() + 16, 48), Buffers.memory(buffer, 16, 48));
      ArrowBuf slice = buffer.slice(8, 16);
      assertEquals(
          HostMemory.ofAddress(buffer.memoryAddress() + 12, 12), Buffers.memory(slice, 4, 12));
      assertThrows(IndexOutOfBoundsException.class, () -> Buffers.memory(slice, 4, 13));
      assertThrows(IndexOutOfBoundsException.class, () -> Buffers.memory(buffer, 65, 0));
      assertThrows(IndexOutOfBoundsException.class, () -> Buffers.memory(buffer, -1, 1));
    }
  }

  @Test
  void aReleasedBufferHasNoMemory() {
    try (ArrowMemory memory = new ArrowMemory(new NativeMemorySource(0));
        BufferAllocator allocator = memory.newChild("test")) {
      ArrowBuf buffer = allocator.buffer(64);
      buffer.close();
      assertThrows(AssertionError.class, () -> Buffers.memory(buffer, 0, 64));
      assertEquals(0, Buffers.memory(allocator.getEmpty(), 0, 0).bytes());
    }
  }

  @Test
  void aClosedVectorHasNoValues() {
    try (ArrowMemory memory = new ArrowMemory(new NativeMemorySource(0));
        BufferAllocator allocator = memory.newChild("test");
        ArrowBuf data = allocator.buffer(64)) {
      ListVector list =
          BlockVectors.list("v", ElementType.FLOAT64, new int[] {3, 5}, data, allocator);
      assertEquals(40, BlockVectors.values(list, 1).bytes());
      ((org.apache.arrow.vector.FieldVector) list.getDataVector()).clear(); // its lists remain
      assertThrows(IndexOutOfBoundsException.class, () -> BlockVectors.values(list, 1));
      list.close();
    }
  }
}
