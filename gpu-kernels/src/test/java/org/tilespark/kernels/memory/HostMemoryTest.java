package org.tilespark.kernels.memory;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import sun.misc.Unsafe;

/**
 * Arguments that are refused always, and, where assertions are enabled, addresses that cannot be
 * right.
 */
class HostMemoryTest {
  @BeforeEach
  void assertionsAreEnabled() {
    assertTrue(HostMemory.class.desiredAssertionStatus(), "run tests with -ea");
  }

  @Test
  void rangesThatLieSomewhere() {
    byte[] bytes = {1, 2, 3, 4};
    HostMemory all = HostMemory.ofArray(bytes);
    all.slice(0, 2).copyTo(all.slice(2, 2));
    assertArrayEquals(new byte[] {1, 2, 1, 2}, bytes);
    assertEquals(0, all.slice(4, 0).bytes());
    assertEquals(24, HostMemory.ofArray(new double[3]).bytes());
    assertEquals(8, HostMemory.ofDirectBuffer(ByteBuffer.allocateDirect(8)).bytes());
    assertEquals(0, HostMemory.ofAddress(0, 0).bytes()); // of an empty buffer
  }

  @Test
  void anOffsetWithoutItsBaseIsNoAddress() {
    long first = Unsafe.ARRAY_BYTE_BASE_OFFSET;
    for (long offset : new long[] {0, first, first + 4000}) {
      assertThrows(AssertionError.class, () -> new HostMemory(null, offset, 1));
    }
  }

  @Test
  void rangesStayInTheirArray() {
    long first = Unsafe.ARRAY_INT_BASE_OFFSET;
    int[] ints = new int[3];
    assertEquals(12, new HostMemory(ints, first, 12).bytes());
    assertThrows(AssertionError.class, () -> new HostMemory(ints, first, 13));
    assertThrows(AssertionError.class, () -> new HostMemory(ints, first + 8, 5));
    assertThrows(AssertionError.class, () -> new HostMemory(ints, first - 1, 4));
    assertThrows(AssertionError.class, () -> new HostMemory(ints, Long.MAX_VALUE, 4));
    assertThrows(AssertionError.class, () -> new HostMemory("text", first, 1));
    assertThrows(AssertionError.class, () -> new HostMemory(new String[8], first, 1));
  }

  @Test
  void lengthsAreCheckedAlways() {
    assertThrows(IllegalArgumentException.class, () -> HostMemory.ofAddress(1 << 20, -1));
    HostMemory four = HostMemory.ofArray(new byte[4]);
    assertThrows(IndexOutOfBoundsException.class, () -> four.slice(1, 4));
    assertThrows(IndexOutOfBoundsException.class, () -> four.slice(-1, 2));
    assertThrows(IndexOutOfBoundsException.class, () -> four.slice(Long.MAX_VALUE, 2));
    HostMemory three = HostMemory.ofArray(new byte[3]);
    assertThrows(IndexOutOfBoundsException.class, () -> four.copyTo(three));
  }
}
