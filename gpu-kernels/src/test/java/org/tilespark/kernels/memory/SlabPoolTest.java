package org.tilespark.kernels.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.ResourceException;

class SlabPoolTest {
  private static final long MIB = 1 << 20;

  /** Made-up addresses, up to a limit. */
  private static class Fake implements SlabPool.Memory {
    private final long limitBytes;
    private final Map<Long, Long> made = new ConcurrentSkipListMap<>();
    private final List<Long> asked = new ArrayList<>();
    private final AtomicLong top = new AtomicLong(1L << 30);

    private Fake(long limitBytes) {
      this.limitBytes = limitBytes;
    }

    @Override
    public synchronized long make(long bytes) {
      asked.add(bytes);
      if (madeBytes() + bytes > limitBytes) {
        throw new ResourceException("no " + bytes + " bytes");
      }
      long address = top.getAndAdd(bytes);
      made.put(address, bytes);
      return address;
    }

    @Override
    public synchronized void free(long address, long bytes) {
      assertEquals(bytes, made.remove(address));
    }

    @Override
    public RuntimeException exhausted(ResourceException refusal, long bytes, long freedBytes) {
      return new IllegalStateException(bytes + " wanted, " + freedBytes + " freed", refusal);
    }

    long madeBytes() {
      return made.values().stream().mapToLong(Long::longValue).sum();
    }
  }

  @Test
  void slabsMadeAheadServeLargeRequests() {
    Fake fake = new Fake(64 * MIB);
    SlabPool pool = new SlabPool(64 * MIB, 4 * MIB, fake);
    while (pool.makeAhead(10 * MIB)) {}
    assertEquals(List.of(4 * MIB, 4 * MIB), fake.asked);
    assertEquals(8 * MIB, pool.freeBytes());
    long first = pool.take(3 * MIB);
    long second = pool.take(4 * MIB);
    assertEquals(2, fake.asked.size());
    assertFalse(pool.makeAhead(10 * MIB), "what is in use counts");
    pool.giveBack(first, 3 * MIB);
    pool.giveBack(second, 4 * MIB);
  }

  @Test
  void nothingIsMadeAheadThatWouldNotBeKept() {
    Fake fake = new Fake(64 * MIB);
    SlabPool pool = new SlabPool(0, MIB, fake);
    assertFalse(pool.makeAhead(8 * MIB), () -> fake.asked + " made");
    assertEquals(0, fake.madeBytes());
    SlabPool scarce = new SlabPool(64 * MIB, 4 * MIB, new Fake(MIB));
    assertThrows(ResourceException.class, () -> scarce.makeAhead(8 * MIB));
  }

  @Test
  void aSlabThatCannotBeFreedKeepsNoOther() {
    Fake fake =
        new Fake(64 * MIB) {
          @Override
          public synchronized void free(long address, long bytes) {
            super.free(address, bytes);
            if (bytes == 2 * MIB) {
              throw new IllegalStateException("busy");
            }
          }
        };
    SlabPool pool = new SlabPool(64 * MIB, MIB, fake);
    for (long bytes : new long[] {MIB, 2 * MIB, 2 * MIB, 3 * MIB}) {
      pool.giveBack(pool.take(bytes), bytes);
    }
    long held = fake.madeBytes();
    assertTrue(held >= 6 * MIB, () -> held + " bytes");
    assertEquals("busy", assertThrows(IllegalStateException.class, pool::trim).getMessage());
    assertEquals(0, fake.madeBytes());
    assertEquals(0, pool.freeBytes());
  }

  @Test
  void nothingIsMadeInTheSteadyState() {
    Fake memory = new Fake(Long.MAX_VALUE);
    SlabPool pool = new SlabPool(4096 * MIB, 256 * MIB, memory);
    for (int round = 0; round < 5; round++) {
      List<Long> taken = new ArrayList<>();
      for (int i = 0; i < 16; i++) {
        taken.add(pool.take(64 * MIB));
      }
      taken.forEach(address -> pool.giveBack(address, 64 * MIB));
    }
    assertEquals(List.of(256 * MIB, 256 * MIB, 256 * MIB, 256 * MIB), memory.asked);
    assertEquals(0, pool.liveBytes());
    assertEquals(1024 * MIB, pool.freeBytes());
    pool.shut();
    assertEquals(0, memory.madeBytes());
  }

  @Test
  void aShortageTakesWhatIsUnusedThenASmallerSlabThenFails() {
    Fake memory = new Fake(300 * MIB);
    SlabPool pool = new SlabPool(4096 * MIB, 256 * MIB, memory);
    pool.giveBack(pool.take(300 * MIB), 300 * MIB);
    // The slab that is kept holds this one.
    long first = pool.take(100 * MIB);
    assertEquals(List.of(300 * MIB), memory.asked);
    pool.giveBack(first, 100 * MIB);
    memory.asked.clear();
    // Larger than the limit: everything unused goes, in vain.
    IllegalStateException e = assertThrows(IllegalStateException.class, () -> pool.take(301 * MIB));
    assertEquals(301 * MIB + " wanted, " + 300 * MIB + " freed", e.getMessage());
    assertEquals(0, memory.madeBytes());
    assertEquals(0, pool.liveBytes());
    // A whole slab fits once; the second must be one for its request alone.
    memory.asked.clear();
    long whole = pool.take(128 * MIB);
    long half = pool.take(128 * MIB);
    long alone = pool.take(40 * MIB);
    assertEquals(List.of(256 * MIB, 240 * MIB, 40 * MIB), memory.asked);
    pool.giveBack(whole, 128 * MIB);
    pool.giveBack(half, 128 * MIB);
    pool.giveBack(alone, 40 * MIB);
    pool.shut();
    assertEquals(0, memory.madeBytes());
  }

  @Test
  void manyThreadsShareThePool() throws Exception {
    Fake memory = new Fake(Long.MAX_VALUE);
    SlabPool pool = new SlabPool(256 * MIB, 16 * MIB, memory);
    Map<Long, Long> taken = new ConcurrentSkipListMap<>(); // address -> end
    ExecutorService threads = Executors.newFixedThreadPool(8);
    try {
      List<Future<?>> results = new ArrayList<>();
      for (int thread = 0; thread < 8; thread++) {
        SplittableRandom random = new SplittableRandom(thread);
        results.add(
            threads.submit(
                () -> {
                  for (int i = 0; i < 3000; i++) {
                    long bytes = 1 + random.nextLong(random.nextBoolean() ? 6000 : 12 * MIB);
                    long address = pool.take(bytes);
                    var overlapping =
                        ((ConcurrentSkipListMap<Long, Long>) taken).lowerEntry(address + bytes);
                    assertTrue(overlapping == null || overlapping.getValue() <= address);
                    taken.put(address, address + bytes);
                    taken.remove(address);
                    pool.giveBack(address, bytes);
                  }
                }));
      }
      for (Future<?> result : results) {
        result.get();
      }
    } finally {
      threads.shutdownNow();
    }
    assertEquals(0, pool.liveBytes());
    assertEquals(memory.madeBytes(), pool.freeBytes());
    assertTrue(pool.freeBytes() <= 256 * MIB);
    pool.shut();
    assertEquals(0, memory.madeBytes());
  }
}
