package org.tilespark.arrow.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.tilespark.arrow.memory.NativeMemorySource;
import org.tilespark.kernels.memory.HostMemory;

class ImageMemoryTest {
  private final NativeMemorySource source = new NativeMemorySource(0);
  private final StoreBudget whole = new StoreBudget(1L << 30);

  @AfterEach
  void nothingIsHeld() {
    assertEquals(0, whole.usedBytes());
    source.close();
  }

  @Test
  void readersKeepIt() {
    ImageMemory memory = new ImageMemory(source, whole);
    long first = memory.room(24, 3);
    long second = memory.room(40, 5);
    HostMemory.unsafe().putLong(first, 17);
    assertEquals(RowImage.header(24, 3), RowImage.headerAt(first - RowImage.HEADER_BYTES));
    assertEquals(RowImage.header(40, 5), RowImage.headerAt(second - RowImage.HEADER_BYTES));
    assertTrue(memory.retain());
    memory.release(); // its maker
    assertEquals(17, HostMemory.unsafe().getLong(first));
    assertEquals(memory.heldBytes(), whole.usedBytes());
    memory.release();
    assertEquals(0, whole.usedBytes());
    assertFalse(memory.retain());
    assertThrows(IllegalStateException.class, memory::release);
  }

  /**
   * Rows of a power of two and a little more, and of sizes of which few fit an extent; outputs that
   * end anywhere.
   */
  @ParameterizedTest
  @ValueSource(longs = {4 << 10, 64 << 10, 1 << 20, 2600 << 10, 5100 << 10, 6800 << 10, 16 << 20})
  void littleIsUnused(long values) {
    ImageMemory memory = new ImageMemory(source, whole);
    long row = values + 72;
    for (long rows = 1; rows * row < 160 << 20; rows++) {
      assertTrue(memory.room(row, 6) != 0);
      if (rows * row > 8 << 20) {
        double share = memory.heldBytes() / ((double) rows * row);
        assertTrue(share < 1.15, () -> "held " + share + " times what was asked for");
      }
    }
    memory.release();
  }

  @Test
  void smallPartitionsTakeLittle() {
    ImageMemory memory = new ImageMemory(source, whole);
    assertTrue(memory.room(104, 6) != 0);
    assertTrue(memory.heldBytes() <= 16 << 10);
    assertFalse(memory.isPinned());
    memory.release();
  }

  @Test
  void aPartKeepsToItsOwnLimitAndToThatOfTheWhole() {
    StoreBudget part = whole.part(1 << 20);
    assertTrue(part.take(1 << 20));
    assertFalse(part.take(1));
    assertEquals(1 << 20, whole.usedBytes());
    part.giveBack(1 << 20);
    long others = (1L << 30) - 100;
    assertTrue(whole.take(others));
    assertFalse(part.take(101));
    assertEquals(0, part.usedBytes());
    assertTrue(part.take(100));
    assertEquals(1L << 30, whole.usedBytes());
    part.giveBack(100);
    whole.giveBack(others);
  }

  @Test
  void aPartEvictsFromTheWhole() {
    StoreBudget part = whole.part(1 << 20);
    long others = (1L << 30) - 100;
    assertTrue(whole.take(others));
    whole.evictsWith(
        missing -> {
          whole.giveBack(missing);
          return true;
        });
    assertTrue(part.take(1000));
    part.giveBack(1000);
    whole.giveBack(others - 900);
  }

  @Test
  void noRoomIsNoError() {
    ImageMemory memory = new ImageMemory(source, whole.part(100 << 10));
    assertTrue(memory.room(8 << 10, 1) != 0);
    assertEquals(0, memory.room(200 << 10, 1));
    assertTrue(memory.room(1 << 10, 1) != 0);
    memory.release();
  }
}
