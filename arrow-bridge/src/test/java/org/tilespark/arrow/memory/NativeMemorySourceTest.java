package org.tilespark.arrow.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Set;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.memory.HugePages;

class NativeMemorySourceTest {
  @Test
  void largeBlocksAreReusedUpToTheBound() {
    try (NativeMemorySource source = new NativeMemorySource(3 << 20)) {
      HostMemorySource.Allocation first = source.allocate(2 << 20);
      HostMemorySource.Allocation second = source.allocate(2 << 20);
      Set<Long> addresses = Set.of(first.address(), second.address());
      first.free();
      second.free(); // one more than the bound allows
      assertEquals(2 << 20, source.keptBytes());
      HostMemorySource.Allocation again = source.allocate((2 << 20) - 1000);
      assertTrue(addresses.contains(again.address()));
      assertEquals(0, source.keptBytes());
      again.free();
    }
  }

  /** The bound may change; what is too much goes with the next that comes back. */
  @Test
  void moreIsKeptWhileThatIsAllowed() {
    long[] more = {2 << 20};
    try (NativeMemorySource source = new NativeMemorySource(2 << 20)) {
      source.keepsMore(() -> more[0], 0);
      HostMemorySource.Allocation first = source.allocate(2 << 20);
      HostMemorySource.Allocation second = source.allocate(2 << 20);
      HostMemorySource.Allocation third = source.allocate(2 << 20);
      first.free();
      second.free();
      assertEquals(4 << 20, source.keptBytes());
      more[0] = 0;
      third.free();
      assertEquals(2 << 20, source.keptBytes());
    }
  }

  @Test
  void slabsLieOnHugePages() {
    try (NativeMemorySource source = new NativeMemorySource(1 << 30)) {
      HostMemorySource.Allocation first = source.allocate(3 << 20);
      HostMemorySource.Allocation second = source.allocate(3 << 20);
      assertEquals(0, first.address() % HugePages.BYTES);
      assertEquals(first.address() + (3 << 20), second.address());
      first.free();
      second.free();
    }
  }

  @Test
  void smallBlocksAreNotKept() {
    try (NativeMemorySource source = new NativeMemorySource(1 << 20)) {
      source.allocate(1000).free();
      source.allocate(0).free();
      assertEquals(0, source.keptBytes());
    }
  }

  @Test
  void whatComesBackAfterCloseIsFreed() {
    NativeMemorySource source = new NativeMemorySource(1 << 30);
    HostMemorySource.Allocation late = source.allocate(1 << 20);
    source.allocate(1 << 20).free();
    assertTrue(source.keptBytes() >= 1 << 20);
    source.close();
    late.free();
    assertEquals(0, source.keptBytes());
  }

  @Test
  void absurdRequestsSayWhatHelps() {
    try (NativeMemorySource source = new NativeMemorySource(0)) {
      OutOfHostMemoryException refused =
          assertThrows(OutOfHostMemoryException.class, () -> source.allocate(1L << 60));
      String message = refused.getMessage();
      assertNull(refused.getCause(), "Spark ends an executor that meets an OutOfMemoryError");
      assertTrue(message.contains(Long.toString(1L << 60)), message);
      assertTrue(message.contains("spark.executor.memoryOverhead"), message);
    }
  }
}
