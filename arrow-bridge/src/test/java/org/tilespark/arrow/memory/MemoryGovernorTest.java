package org.tilespark.arrow.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.tilespark.arrow.pipeline.PipelineListener;
import org.tilespark.kernels.ResourceException;

@Timeout(60)
class MemoryGovernorTest {
  private final Heard heard = new Heard();

  @Test
  void grantsWhatIsWantedAndTakesItBack() {
    MemoryGovernor governor = governor(100);
    try (var grant = acquire(governor, 60, 10)) {
      assertEquals(60, grant.bytes());
      assertEquals(60, governor.usedBytes());
      grant.close();
    }
    assertEquals(0, governor.usedBytes());
    assertEquals(60, governor.peakBytes());
    assertEquals(0, heard.retries);
  }

  @Test
  void moreThanTheLimitIsCutToIt() {
    try (var grant = acquire(governor(100), 500, 30)) {
      assertEquals(100, grant.bytes());
    }
  }

  @Test
  void ownWorkIsSettledFirst() {
    MemoryGovernor governor = governor(100);
    var first = acquire(governor, 80, 80);
    try (var second = governor.acquire(90, 90, Memory::new, first::close, heard)) {
      assertEquals(90, second.bytes());
    }
    assertEquals(1, heard.retries);
    assertEquals(0, heard.splits);
  }

  @Test
  void thenItIsHalvedDownToTheLeast() {
    MemoryGovernor governor = governor(100);
    try (var other = acquire(governor, 70, 70);
        var mine = acquire(governor, 100, 20)) {
      assertEquals(25, mine.bytes());
      assertEquals(2, heard.splits);
      assertEquals(95, governor.usedBytes());
      assertEquals(70, other.bytes());
    }
  }

  @Test
  void theLeastWaitsForOthers() throws Exception {
    MemoryGovernor governor = governor(100);
    var other = acquire(governor, 70, 70);
    ExecutorService pool = Executors.newSingleThreadExecutor();
    try {
      Future<Long> waiting =
          pool.submit(
              () -> {
                try (var mine = acquire(governor, 50, 50)) {
                  return mine.bytes();
                }
              });
      TimeUnit.MILLISECONDS.sleep(500);
      assertEquals(false, waiting.isDone());
      other.close();
      assertEquals(50, waiting.get());
    } finally {
      pool.shutdownNow();
    }
  }

  private MemoryGovernor.Grant<Memory> acquireForLong(
      MemoryGovernor governor, long bytes, Runnable stillWanted) {
    return governor.acquireForLong(bytes, Memory::new, () -> {}, stillWanted, heard);
  }

  /** Tiles are held for minutes: the next in line waits that long, and never fails for it. */
  @Test
  void whatIsHeldForLongIsWaitedForAsLongAsOthersHoldSome() throws Exception {
    MemoryGovernor governor = governor(800);
    assertEquals(100, governor.spareBytes());
    var first = acquireForLong(governor, 400, () -> {});
    CountDownLatch waited = new CountDownLatch(5);
    ExecutorService pool = Executors.newFixedThreadPool(2);
    try {
      List<Future<Long>> waiting = new ArrayList<>();
      for (int i = 0; i < 2; i++) {
        waiting.add(
            pool.submit(
                () -> {
                  try (var mine = acquireForLong(governor, 401, waited::countDown)) {
                    return mine.bytes();
                  }
                }));
      }
      waited.await();
      assertEquals(400, governor.usedBytes());
      first.close();
      for (Future<Long> each : waiting) {
        assertEquals(401, each.get());
      }
    } finally {
      pool.shutdownNow();
    }
    assertEquals(0, governor.usedBytes());
    assertTrue(governor.peakBytes() <= 800);
  }

  /** A tile leaves room for the batches of other operators, unless it needs all and is alone. */
  @Test
  void whatIsHeldForLongLeavesSomeToOthers() throws Exception {
    MemoryGovernor governor = governor(800);
    var first = acquireForLong(governor, 300, () -> {});
    ExecutorService pool = Executors.newSingleThreadExecutor();
    try {
      CountDownLatch waited = new CountDownLatch(2);
      Future<Long> waiting =
          pool.submit(
              () -> {
                try (var mine = acquireForLong(governor, 450, waited::countDown)) {
                  return mine.bytes();
                }
              });
      waited.await(); // 50 would be left
      try (var batch = acquire(governor, 500, 500)) {
        assertEquals(500, batch.bytes());
      }
      first.close();
      assertEquals(450, waiting.get());
    } finally {
      pool.shutdownNow();
    }
    try (var alone = acquireForLong(governor, 800, () -> {})) {
      assertEquals(800, alone.bytes());
    }
  }

  @Test
  void whatIsHeldForLongFailsOnlyWhereItNeverFits() {
    ResourceException e =
        assertThrows(ResourceException.class, () -> acquireForLong(governor(100), 101, () -> {}));
    assertTrue(e.getMessage().contains("101 bytes requested"), e.getMessage());
    MemoryGovernor governor = governor(100);
    try (var other = acquire(governor, 50, 50)) {
      IllegalStateException killed =
          assertThrows(
              IllegalStateException.class,
              () ->
                  acquireForLong(
                      governor,
                      60,
                      () -> {
                        throw new IllegalStateException("killed");
                      }));
      assertEquals("killed", killed.getMessage());
      assertEquals(50, other.bytes());
    }
    assertEquals(0, governor.usedBytes());
  }

  @Test
  void failsWithTheFiguresAndTheAdvice() {
    ResourceException limit =
        assertThrows(ResourceException.class, () -> acquire(governor(100), 500, 101));
    assertTrue(
        limit
            .getMessage()
            .contains("101 bytes requested, the least that will do; the limit is 100"),
        limit.getMessage());
    assertTrue(limit.getMessage().endsWith("raise the limit"), limit.getMessage());
    MemoryGovernor governor = governor(100);
    ResourceException driver =
        assertThrows(
            ResourceException.class,
            () ->
                governor.acquire(
                    50,
                    10,
                    bytes -> {
                      throw new ResourceException("3 bytes free");
                    },
                    () -> {},
                    heard));
    assertTrue(driver.getMessage().contains("10 bytes requested"), driver.getMessage());
    assertTrue(driver.getMessage().contains("the driver said: 3 bytes free"), driver.getMessage());
    assertEquals(0, governor.usedBytes());
  }

  /** Optional memory is granted only if a reserve stays free, and while nobody waits. */
  @Test
  void whatIsNotNeededStandsBack() throws Exception {
    MemoryGovernor governor = governor(100);
    assertTrue(governor.tryAcquire(71, 30, Memory::new).isEmpty());
    try (var some = governor.tryAcquire(50, 30, Memory::new).orElseThrow()) {
      assertEquals(50, some.bytes());
      assertEquals(50, governor.usedBytes());
      CountDownLatch waited = new CountDownLatch(1);
      ExecutorService pool = Executors.newSingleThreadExecutor();
      try {
        Future<Long> waiting =
            pool.submit(
                () -> {
                  try (var all =
                      governor.acquireForLong(
                          90, Memory::new, () -> {}, waited::countDown, PipelineListener.NONE)) {
                    return all.bytes();
                  }
                });
        waited.await();
        boolean refused = false; // between two waits it may be granted
        for (int i = 0; i < 10_000 && !refused; i++) {
          var more = governor.tryAcquire(1, 0, Memory::new);
          refused = more.isEmpty();
          more.ifPresent(MemoryGovernor.Grant::close);
        }
        assertTrue(refused, "granted beside one who waits");
        some.close();
        assertEquals(90, waiting.get());
      } finally {
        pool.shutdownNow();
      }
    }
    assertTrue(
        governor
            .tryAcquire(
                10,
                0,
                bytes -> {
                  throw new ResourceException("no memory");
                })
            .isEmpty());
    assertEquals(0, governor.usedBytes());
  }

  @Test
  void injectedFaultsStrikeOneInN() {
    AllocationFaults faults = new AllocationFaults(4, 7);
    int strikes = 0;
    for (int i = 0; i < 400; i++) {
      strikes += faults.strikes() ? 1 : 0;
    }
    assertEquals(100, strikes);
    MemoryGovernor governor = new MemoryGovernor(100, new AllocationFaults(2, 7), "");
    for (int i = 0; i < 20; i++) {
      acquire(governor, 10, 10).close();
    }
    assertTrue(heard.retries >= 10, () -> heard.retries + " retries");
  }

  @Test
  void manyThreadsNeverExceedTheLimit() throws Exception {
    MemoryGovernor governor = new MemoryGovernor(1000, new AllocationFaults(5, 1), "");
    AtomicLong live = new AtomicLong();
    AtomicLong most = new AtomicLong();
    CountDownLatch start = new CountDownLatch(1);
    ExecutorService pool = Executors.newFixedThreadPool(16);
    try {
      List<Future<?>> tasks = new ArrayList<>();
      for (int t = 0; t < 16; t++) {
        tasks.add(
            pool.submit(
                () -> {
                  start.await();
                  for (int i = 0; i < 50; i++) {
                    try (var grant =
                        governor.acquire(400, 100, Memory::new, () -> {}, PipelineListener.NONE)) {
                      most.accumulateAndGet(live.addAndGet(grant.bytes()), Math::max);
                      live.addAndGet(-grant.bytes());
                    }
                  }
                  return null;
                }));
      }
      start.countDown();
      for (Future<?> task : tasks) {
        task.get();
      }
    } finally {
      pool.shutdownNow();
    }
    assertTrue(most.get() <= 1000, () -> most + " bytes at once");
    assertEquals(0, governor.usedBytes());
  }

  private MemoryGovernor governor(long limit) {
    return new MemoryGovernor(limit, AllocationFaults.NONE, "raise the limit");
  }

  private MemoryGovernor.Grant<Memory> acquire(MemoryGovernor governor, long wanted, long least) {
    return governor.acquire(wanted, least, Memory::new, () -> {}, heard);
  }

  private record Memory(long bytes) implements AutoCloseable {
    @Override
    public void close() {}
  }

  private static final class Heard implements PipelineListener {
    int retries;
    int splits;

    @Override
    public void retried() {
      retries++;
    }

    @Override
    public void split() {
      splits++;
    }
  }
}
