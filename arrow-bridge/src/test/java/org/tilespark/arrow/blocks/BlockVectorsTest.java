package org.tilespark.arrow.blocks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.complex.ListVector;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.tilespark.arrow.memory.ArrowMemory;
import org.tilespark.arrow.memory.NativeMemorySource;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.ElementType;

@Tag("versions")
class BlockVectorsTest {
  @ParameterizedTest
  @EnumSource
  void wrapsValuesWithoutACopy(ElementType type) {
    try (ArrowMemory memory = new ArrowMemory(new NativeMemorySource(0));
        BufferAllocator allocator = memory.newChild("test")) {
      ArrowBuf data = allocator.buffer(10L * type.bytes());
      try (ListVector list = BlockVectors.list("v", type, new int[] {3, 0, 7}, data, allocator)) {
        long address = data.memoryAddress();
        data.close(); // the vector holds its own reference
        assertEquals(3, list.getValueCount());
        assertEquals(0, list.getNullCount());
        assertEquals(
            HostMemory.ofAddress(address, 3L * type.bytes()), BlockVectors.values(list, 0));
        assertEquals(0, BlockVectors.length(list, 1));
        assertEquals(
            HostMemory.ofAddress(address + 3L * type.bytes(), 7L * type.bytes()),
            BlockVectors.values(list, 2));
        assertTrue(memory.owns(list.getDataVector().getDataBuffer()));
      }
      assertEquals(0, allocator.getAllocatedMemory());
    }
  }

  @Test
  void refusesWhatDoesNotFit() {
    try (ArrowMemory memory = new ArrowMemory(new NativeMemorySource(0));
        BufferAllocator allocator = memory.newChild("test");
        ArrowBuf data = allocator.buffer(64)) {
      String few =
          assertThrows(
                  IllegalArgumentException.class,
                  () -> BlockVectors.list("v", ElementType.FLOAT64, new int[] {9}, data, allocator))
              .getMessage();
      assertEquals("Blocks of 9 elements of 8 bytes need 72 bytes, the buffer has 64", few);
      String many =
          assertThrows(
                  IllegalArgumentException.class,
                  () ->
                      BlockVectors.list(
                          "v", ElementType.INT8, new int[] {Integer.MAX_VALUE, 1}, data, allocator))
              .getMessage();
      assertTrue(many.startsWith("A batch of 2147483648 elements"), many);
    }
  }

  @Test
  void memoryKnowsItsOwnBuffers() {
    try (ArrowMemory memory = new ArrowMemory(new NativeMemorySource(0));
        ArrowMemory other = new ArrowMemory(new NativeMemorySource(0))) {
      ArrowBuf buffer = memory.root().buffer(100);
      assertTrue(memory.owns(buffer));
      assertTrue(memory.owns(buffer.slice(3, 5)));
      assertFalse(other.owns(buffer));
      assertFalse(memory.isPinned());
      assertEquals(0, buffer.memoryAddress() % 64);
      assertEquals(128, memory.allocatedBytes());
      buffer.close();
      assertEquals(0, memory.allocatedBytes());
      assertEquals(128, memory.peakBytes());
    }
  }

  @Test
  void closingMemoryWithLiveBuffersSaysSo() {
    ArrowMemory memory = new ArrowMemory(new NativeMemorySource(0));
    memory.root().buffer(100);
    String message = assertThrows(IllegalStateException.class, memory::close).getMessage();
    assertTrue(message.contains("128"), message);
  }
}
