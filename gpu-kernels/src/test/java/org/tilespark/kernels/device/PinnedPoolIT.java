package org.tilespark.kernels.device;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.tilespark.kernels.memory.HostMemory;

@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@RequiresGpu
class PinnedPoolIT {
  private CudaDevice device;

  @BeforeAll
  void open() {
    device = CudaDevice.open(0);
  }

  @AfterAll
  void close() {
    if (device == null) {
      return;
    }
    long pinnedBytes = device.livePinnedBytes();
    device.close();
    assertEquals(0, pinnedBytes, "pinned bytes alive");
  }

  @Test
  void returnedBuffersAreReused() {
    try (PinnedPool pool = device.newPinnedPool(64 << 20)) {
      long address;
      try (PinnedBuffer first = pool.take(10_000_000)) {
        address = first.address();
        assertEquals(10_000_000, first.bytes());
        assertEquals(10_000_000, first.memory().bytes());
        assertTrue(pool.liveBytes() >= 10_000_000);
        first.memory().fill((byte) 1);
      }
      assertEquals(0, pool.liveBytes());
      long pinned = device.livePinnedBytes();
      assertTrue(pinned >= 10_000_000);
      try (PinnedBuffer again = pool.take(9_900_000)) {
        assertEquals(address, again.address());
        assertEquals(pinned, device.livePinnedBytes());
      }
    }
    assertEquals(0, device.livePinnedBytes());
  }

  @Test
  void buffersShareSlabsAndNothingIsPinnedInTheSteadyState() {
    try (PinnedPool pool = device.newPinnedPool(1L << 30)) {
      long pinned = 0;
      for (int round = 0; round < 3; round++) {
        List<PinnedBuffer> taken = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
          taken.add(pool.take(16 << 20));
          taken.add(pool.take(100));
          taken.get(2 * i).memory().fill((byte) i);
        }
        for (int i = 0; i < 8; i++) {
          HostMemory buffer = taken.get(2 * i).memory();
          assertEquals((byte) i, HostMemory.unsafe().getByte(buffer.offset()));
          assertEquals((byte) i, HostMemory.unsafe().getByte(buffer.offset() + buffer.bytes() - 1));
        }
        taken.forEach(PinnedBuffer::close);
        assertEquals(0, pool.liveBytes());
        assertTrue(round == 0 || pinned == device.livePinnedBytes(), "pinned more");
        pinned = device.livePinnedBytes();
      }
      assertTrue(pinned >= 128 << 20 && pinned <= 160 << 20, () -> "two slabs of 64 MiB and a few");
    }
  }

  @Test
  void keepsNoMoreThanItMay() {
    try (PinnedPool pool = device.newPinnedPool(8192)) {
      List<PinnedBuffer> taken = new ArrayList<>();
      for (int i = 0; i < 5; i++) {
        taken.add(pool.take(4096));
      }
      taken.forEach(PinnedBuffer::close);
      taken.forEach(PinnedBuffer::close);
      assertEquals(8192, pool.cachedBytes());
      assertEquals(8192, device.livePinnedBytes());
      pool.trim();
      assertEquals(0, device.livePinnedBytes());
    }
  }

  @Test
  void buffersMayOutliveThePool() {
    PinnedPool pool = device.newPinnedPool(1 << 20);
    PinnedBuffer buffer = pool.take(5000);
    pool.close();
    pool.close();
    buffer.memory().fill((byte) 3);
    buffer.close();
    assertEquals(0, device.livePinnedBytes());
    assertThrows(IllegalStateException.class, () -> pool.take(1));
  }

  @Test
  void emptyAndNegativeRequests() {
    try (PinnedPool pool = device.newPinnedPool(1 << 20)) {
      try (PinnedBuffer empty = pool.take(0)) {
        assertEquals(0, empty.memory().bytes());
      }
      assertThrows(IllegalArgumentException.class, () -> pool.take(-1));
      assertThrows(IllegalArgumentException.class, () -> device.newPinnedPool(-1));
    }
  }

  @Test
  void aRequestThatCannotBePinnedSaysWhatWasFreed() {
    try (PinnedPool pool = device.newPinnedPool(64 << 20)) {
      pool.take(1 << 20).close();
      long kept = pool.cachedBytes();
      assertTrue(kept >= 1 << 20);
      DeviceOutOfMemoryException e =
          assertThrows(DeviceOutOfMemoryException.class, () -> pool.take(1L << 44).close());
      assertEquals(1L << 44, e.requestedBytes());
      assertTrue(
          e.getMessage().contains("the pool had freed the " + kept + " bytes it kept"),
          e.getMessage());
      assertEquals(0, pool.cachedBytes());
      assertEquals(0, pool.liveBytes());
    }
  }

  @Test
  void severalThreadsTakeAndReturn() throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(8);
    try (PinnedPool pool = device.newPinnedPool(16 << 20)) {
      List<Future<?>> results = new ArrayList<>();
      for (int thread = 0; thread < 8; thread++) {
        int seed = thread;
        results.add(
            threads.submit(
                () -> {
                  SplittableRandom random = new SplittableRandom(seed);
                  for (int i = 0; i < 200; i++) {
                    try (PinnedBuffer buffer = pool.take(1 + random.nextLong(1 << 20))) {
                      buffer.memory().fill((byte) seed);
                      long last = buffer.address() + buffer.bytes() - 1;
                      assertEquals((byte) seed, HostMemory.unsafe().getByte(last));
                    }
                  }
                }));
      }
      for (Future<?> result : results) {
        result.get();
      }
      assertEquals(0, pool.liveBytes());
      assertTrue(pool.cachedBytes() <= 16 << 20);
      assertEquals(pool.cachedBytes(), device.livePinnedBytes());
    } finally {
      threads.shutdownNow();
    }
  }
}
