package org.tilespark.arrow.panels;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.tilespark.arrow.memory.AllocationFaults;
import org.tilespark.arrow.memory.MemoryGovernor;
import org.tilespark.arrow.pipeline.PipelineListener;
import org.tilespark.kernels.ResourceException;

/** Panels that tasks share, with memory of which a test knows all. */
@Timeout(120)
class SharedPanelsTest {
  private static final long BYTES = 10;

  private final LinkedBlockingQueue<Runnable> later = new LinkedBlockingQueue<>();
  private final AtomicInteger uploads = new AtomicInteger();
  private final AtomicInteger allocations = new AtomicInteger();
  private final AtomicInteger live = new AtomicInteger();
  private final AtomicInteger misused = new AtomicInteger();
  private final Heard heard = new Heard();
  private MemoryGovernor governor;
  private SharedPanels<Memory> panels;

  /** Memory of one panel that holds a number, and notices what is done to it too late. */
  private final class Memory implements AutoCloseable {
    private volatile int value;
    private volatile boolean closed;

    private Memory() {
      allocations.incrementAndGet();
      live.incrementAndGet();
    }

    void fill(int number) {
      use();
      value = number;
    }

    int copy() {
      use();
      Thread.yield();
      int number = value;
      use();
      return number;
    }

    private void use() {
      if (closed) {
        misused.incrementAndGet();
      }
    }

    @Override
    public void close() {
      use();
      closed = true;
      live.decrementAndGet();
    }
  }

  private static final class Heard implements PipelineListener {
    private final AtomicInteger retries = new AtomicInteger();

    @Override
    public void retried() {
      retries.incrementAndGet();
    }
  }

  private void open(long limit) {
    open(new MemoryGovernor(limit, AllocationFaults.NONE, "none"));
  }

  private void open(MemoryGovernor newGovernor) {
    governor = newGovernor;
    panels = new SharedPanels<>(governor, bytes -> new Memory(), later::add);
  }

  @AfterEach
  void nothingIsAlive() {
    if (panels != null) {
      panels.close();
      panels.close();
    }
    assertEquals(0, live.get(), "memory that is not freed");
    assertEquals(0, misused.get(), "memory used or freed after it was freed");
    assertEquals(0, governor.usedBytes());
  }

  private static PanelId id(String stripe, int inner, int uses, int user) {
    return new PanelId(stripe, inner, uses, user, true);
  }

  /** The number of a panel that one task sees. */
  private int number(SharedPanels<Memory>.Member member, PanelId id, int value) {
    int[] seen = new int[1];
    boolean uploaded =
        member.bring(
            id,
            BYTES,
            memory -> seen[0] = memory.copy(),
            () -> {
              uploads.incrementAndGet();
              seen[0] = value;
            },
            memory -> memory.fill(seen[0]));
    return uploaded ? seen[0] : -seen[0];
  }

  @Test
  void theFirstUploadsAndTheOthersCopy() {
    open(100);
    for (int inner = 0; inner < 3; inner++) {
      try (var member = panels.join("stage")) {
        assertEquals(5, number(member, id("a", inner, 4, 0), 5));
        assertEquals(-5, number(member, id("a", inner, 4, 1), 6));
        AtomicReference<Memory> found = new AtomicReference<>();
        assertTrue(member.find(id("a", inner, 4, 2), BYTES, found::set));
        assertEquals(5, found.get().copy());
        assertEquals(BYTES, panels.keptBytes());
        assertFalse(member.find(id("b", inner, 4, 2), BYTES, found::set), "another stripe");
        assertFalse(member.find(id("a", inner + 1, 4, 2), BYTES, found::set), "another place");
        assertEquals(-5, number(member, id("a", inner, 4, 3), 7));
        assertEquals(0, panels.keptBytes(), "the last one has had it");
        assertEquals(0, live.get());
      }
    }
    assertEquals(3, uploads.get());
  }

  @Test
  void aTileThatIsDoneCountsAsAUse() {
    open(100);
    try (var member = panels.join("stage")) {
      number(member, id("a", 0, 3, 0), 1);
      number(member, id("a", 0, 3, 0), 1); // twice is once
      member.passed(id("a", 0, 3, 2)); // it had none of them
      assertEquals(BYTES, panels.keptBytes());
      member.passed(id("a", 0, 3, 0));
      assertEquals(BYTES, panels.keptBytes());
      number(member, id("a", 1, 3, 0), 2); // a task that is tried again
      member.passed(id("a", 1, 3, 1));
      assertEquals(0, panels.keptBytes());
    }
    assertTrue(later.isEmpty(), "nothing is left to be dropped");
  }

  /** As when Spark runs a task twice, and one of the two is done. */
  @Test
  void aPanelThatNobodyWantsAnyMoreIsNotKept() {
    open(100);
    try (var member = panels.join("stage");
        var other = panels.join("stage")) {
      AtomicInteger filled = new AtomicInteger();
      assertTrue(
          member.bring(
              id("a", 0, 2, 0),
              BYTES,
              memory -> {},
              () -> {
                other.passed(id("a", 0, 2, 0));
                other.passed(id("a", 0, 2, 1));
              },
              memory -> filled.incrementAndGet()));
      assertEquals(1, filled.get());
      assertEquals(0, panels.keptBytes());
      assertEquals(0, live.get());
    }
  }

  @Test
  void attemptsAndExecutionsDoNotMix() {
    open(100);
    try (var first = panels.join("attempt 0");
        var second = panels.join("attempt 1");
        var again = panels.join("attempt 0")) {
      assertEquals(1, number(first, id("a", 0, 9, 0), 1));
      assertEquals(2, number(second, id("a", 0, 9, 1), 2));
      assertEquals(-1, number(again, id("a", 0, 9, 2), 3));
      assertEquals(-2, number(second, id("a", 0, 9, 3), 4));
    }
  }

  @Test
  void aPanelOfAnotherSizeIsNotTheSame() {
    open(100);
    try (var member = panels.join("stage")) {
      number(member, id("a", 0, 9, 0), 1);
      assertFalse(member.find(id("a", 0, 9, 1), BYTES + 1, memory -> {}));
      AtomicInteger uploaded = new AtomicInteger();
      assertTrue(
          member.bring(
              id("a", 0, 9, 1),
              BYTES + 1,
              memory -> misused.incrementAndGet(),
              uploaded::incrementAndGet,
              memory -> misused.incrementAndGet()));
      assertEquals(1, uploaded.get());
    }
  }

  @Test
  void whatFailsIsNotKept() {
    open(100);
    try (var member = panels.join("stage")) {
      IllegalStateException failure = new IllegalStateException("upload");
      assertSame(
          failure,
          assertThrows(
              IllegalStateException.class,
              () ->
                  member.bring(
                      id("a", 0, 9, 0),
                      BYTES,
                      memory -> {},
                      () -> {
                        throw failure;
                      },
                      memory -> {})));
      assertThrows(
          IllegalStateException.class,
          () ->
              member.bring(
                  id("a", 0, 9, 0),
                  BYTES,
                  memory -> {},
                  () -> {},
                  memory -> {
                    throw failure;
                  }));
      assertEquals(0, live.get());
      assertEquals(0, governor.usedBytes());
      assertEquals(3, number(member, id("a", 0, 9, 1), 3));
      assertThrows(
          IllegalStateException.class,
          () ->
              member.find(
                  id("a", 0, 9, 2),
                  BYTES,
                  memory -> {
                    throw failure;
                  }));
      assertEquals(-3, number(member, id("a", 0, 9, 2), 4), "a copy that failed harms nobody");
    }
  }

  @Test
  void withoutRoomEachUploads() {
    open(25);
    assertEquals(3, governor.spareBytes());
    try (var member = panels.join("stage")) {
      for (int user = 0; user < 3; user++) {
        for (int inner = 0; inner < 4; inner++) {
          int value = inner + 1;
          assertEquals(
              inner < 2 && user > 0 ? -value : value,
              number(member, id("a", inner, 4, user), value));
        }
      }
      assertEquals(2 * BYTES, panels.keptBytes());
    }
    assertEquals(2 + 3 * 2, uploads.get());
  }

  /** Panels that are used much later leave a quarter to those that are used soon. */
  @Test
  void panelsUsedLaterLeaveMemoryToThoseUsedSoon() {
    open(100);
    try (var member = panels.join("stage")) {
      for (int inner = 0; inner < 9; inner++) {
        number(member, new PanelId("b", inner, 4, 0, false), inner);
      }
      assertEquals(70, panels.keptBytes());
      number(member, id("a", 0, 4, 0), 1);
      assertEquals(80, panels.keptBytes());
    }
  }

  @Test
  void aDriverThatRefusesIsNotAskedAgain() {
    governor = new MemoryGovernor(100, AllocationFaults.NONE, "none");
    SharedPanels<Memory> refused =
        new SharedPanels<>(
            governor,
            bytes -> {
              allocations.incrementAndGet();
              throw new ResourceException("no memory");
            },
            later::add);
    try (var member = refused.join("stage")) {
      for (int user = 0; user < 4; user++) {
        assertEquals(7, number(member, id("a", 0, 4, user), 7));
      }
    }
    assertEquals(1, allocations.get());
    refused.close();
  }

  @Test
  void nobodyWaitsForMemoryThatPanelsHave() {
    open(100);
    try (var member = panels.join("stage")) {
      for (int inner = 0; inner < 8; inner++) {
        number(member, id("a", inner, 4, 0), inner + 1);
      }
      assertEquals(80, panels.keptBytes());
      number(member, id("a", 0, 4, 1), 1); // now the one used last
      try (var grant = governor.acquire(85, 10, bytes -> new Memory(), () -> {}, heard)) {
        assertEquals(85, grant.bytes(), "not halved");
        assertEquals(BYTES, panels.keptBytes(), "what must be given up, and no more");
        assertEquals(-1, number(member, id("a", 0, 4, 2), 1));
        assertEquals(4, number(member, id("a", 3, 4, 2), 4), "without room");
        assertEquals(4, number(member, id("a", 3, 4, 3), 4));
      }
      assertEquals(2, number(member, id("a", 1, 4, 0), 2));
      try (var all =
          governor.acquireForLong(100, bytes -> new Memory(), () -> {}, () -> {}, heard)) {
        assertEquals(100, all.bytes());
        assertEquals(0, panels.keptBytes());
      }
      assertEquals(0, heard.retries.get(), "nobody was told to wait");
    }
  }

  /** Panels of a stage that does not run go before those of one that does. */
  @Test
  void idleStagesGoFirst() {
    open(100);
    try (var idle = panels.join("idle");
        var member = panels.join("stage")) {
      number(member, id("a", 0, 4, 0), 1);
      number(idle, id("a", 0, 4, 0), 2);
      idle.close();
      governor.acquire(85, 85, bytes -> new Memory(), () -> {}, heard).close();
      assertEquals(-1, number(member, id("a", 0, 4, 1), 3));
      assertEquals(0, heard.retries.get());
    }
  }

  /** The driver has less than the governor thinks: what is kept goes before a task is refused. */
  @Test
  void whatIsKeptGoesWhenTheDriverRefuses() {
    open(100);
    try (var member = panels.join("stage")) {
      number(member, id("a", 0, 4, 0), 1);
      try (var grant =
          governor.acquire(
              50,
              50,
              bytes -> {
                if (panels.keptBytes() > 0) {
                  throw new ResourceException("no memory");
                }
                return new Memory();
              },
              () -> {},
              heard)) {
        assertEquals(50, grant.bytes());
      }
      assertEquals(0, heard.retries.get());
    }
  }

  @Test
  void aClaimIsWaitedFor() throws Exception {
    open(100);
    CountDownLatch claimed = new CountDownLatch(1);
    CountDownLatch goOn = new CountDownLatch(1);
    ExecutorService pool = Executors.newFixedThreadPool(2);
    try (var member = panels.join("stage");
        var other = panels.join("stage")) {
      Future<?> first =
          pool.submit(
              () ->
                  member.bring(
                      id("a", 0, 9, 0),
                      BYTES,
                      memory -> {},
                      () -> {
                        claimed.countDown();
                        await(goOn);
                      },
                      memory -> memory.fill(8)));
      claimed.await();
      assertFalse(other.find(id("a", 0, 9, 1), BYTES, memory -> {}), "this does not wait");
      AtomicReference<Thread> waiter = new AtomicReference<>();
      Future<Integer> second =
          pool.submit(
              () -> {
                waiter.set(Thread.currentThread());
                return number(other, id("a", 0, 9, 1), 9);
              });
      awaitWaiting(waiter);
      goOn.countDown();
      first.get();
      assertEquals(-8, second.get());
      assertEquals(0, uploads.get());
    } finally {
      pool.shutdownNow();
    }
  }

  @Test
  void aKilledTaskDoesNotWaitForAClaim() throws Exception {
    open(100);
    CountDownLatch claimed = new CountDownLatch(1);
    CountDownLatch goOn = new CountDownLatch(1);
    ExecutorService pool = Executors.newFixedThreadPool(2);
    try (var member = panels.join("stage");
        var other = panels.join("stage")) {
      Future<?> first =
          pool.submit(
              () ->
                  member.bring(
                      id("a", 0, 9, 0),
                      BYTES,
                      memory -> {},
                      () -> {
                        claimed.countDown();
                        await(goOn);
                      },
                      memory -> memory.fill(8)));
      claimed.await();
      Future<Integer> second =
          pool.submit(
              () -> {
                Thread.currentThread().interrupt();
                int seen = number(other, id("a", 0, 9, 1), 9);
                assertTrue(Thread.interrupted(), "its task is to notice");
                return seen;
              });
      assertEquals(9, second.get());
      goOn.countDown();
      first.get();
    } finally {
      pool.shutdownNow();
    }
  }

  /**
   * A task that needs memory waits for a copy that is being queued, and is not told that memory is
   * short.
   */
  @Test
  void aPinnedPanelIsGivenUpWhenItsCopyIsQueued() throws Exception {
    open(100);
    CountDownLatch pinned = new CountDownLatch(1);
    CountDownLatch goOn = new CountDownLatch(1);
    ExecutorService pool = Executors.newFixedThreadPool(2);
    try (var member = panels.join("stage");
        var other = panels.join("stage")) {
      number(member, id("a", 0, 9, 0), 4);
      Future<Integer> copy =
          pool.submit(
              () -> {
                int[] seen = new int[1];
                assertTrue(
                    other.find(
                        id("a", 0, 9, 1),
                        BYTES,
                        memory -> {
                          pinned.countDown();
                          await(goOn);
                          seen[0] = memory.copy();
                        }));
                return seen[0];
              });
      pinned.await();
      AtomicReference<Thread> waiter = new AtomicReference<>();
      Future<Long> asks =
          pool.submit(
              () -> {
                waiter.set(Thread.currentThread());
                try (var grant =
                    governor.acquire(100, 10, bytes -> new Memory(), () -> {}, heard)) {
                  return grant.bytes();
                }
              });
      awaitWaiting(waiter);
      assertFalse(member.find(id("a", 0, 9, 2), BYTES, memory -> {}), "it is on its way out");
      goOn.countDown();
      assertEquals(4, copy.get());
      assertEquals(100, asks.get());
      assertEquals(0, heard.retries.get());
    } finally {
      pool.shutdownNow();
    }
  }

  @Test
  void aStageWithoutTasksIsDroppedAfterAWhile() throws Exception {
    open(100);
    try (var member = panels.join("stage")) {
      number(member, id("a", 0, 4, 0), 1);
    }
    try (var next = panels.join("stage")) { // in time
      later.take().run();
      assertEquals(BYTES, panels.keptBytes());
      assertEquals(-1, number(next, id("a", 0, 4, 1), 2));
      next.close();
    }
    assertEquals(1, later.size(), "closing twice is closing once");
    later.take().run();
    assertEquals(0, panels.keptBytes());
    try (var late = panels.join("stage")) {
      assertEquals(3, number(late, id("a", 0, 4, 2), 3));
    }
  }

  /** A grid of tiles, as many at a time as there are threads: every panel goes up once. */
  @Test
  void everyPanelOfAGridGoesUpOnce() throws Exception {
    for (int round = 0; round < 20; round++) {
      open(1L << 20);
      uploads.set(0);
      grid(8, 5, 6, 4, round, 0, member -> {});
      assertEquals((5 + 6) * 4, uploads.get(), "round " + round);
      assertEquals(0, panels.keptBytes(), "all tiles have had all");
      assertEquals(0, governor.usedBytes());
    }
  }

  /**
   * A grid of tasks while uploads, copies and allocations fail now and then, tasks are tried again,
   * and their own memory leaves little to panels: no wrong number, no deadlock, nothing left.
   */
  @Test
  void aGridWithFailuresAndShortMemory() throws Exception {
    for (int round = 0; round < 10; round++) {
      open(new MemoryGovernor(300, new AllocationFaults(5, round), "none"));
      Random random = new Random(round);
      grid(
          8,
          5,
          6,
          8,
          round,
          40,
          member -> {
            long bytes;
            synchronized (random) {
              bytes = 20L + random.nextInt(80);
            }
            try (var own =
                governor.acquireForLong(
                    bytes, size -> new Memory(), () -> {}, () -> {}, PipelineListener.NONE)) {
              assertEquals(bytes, own.bytes());
            }
          });
      assertTrue(governor.peakBytes() <= 300);
      List<Runnable> ends = new ArrayList<>();
      later.drainTo(ends);
      ends.forEach(Runnable::run);
      assertEquals(0, panels.keptBytes());
      assertEquals(0, governor.usedBytes());
    }
  }

  /**
   * Runs the tiles of a grid, all panels of each.
   *
   * @param failOneIn uploads, copies and fills that fail; 0 for none
   * @param between called by a task that has no panel at the moment
   */
  private void grid(
      int threads,
      int p,
      int q,
      int depth,
      int seed,
      int failOneIn,
      Consumer<SharedPanels<Memory>.Member> between)
      throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(threads);
    try {
      List<Future<?>> tiles = new ArrayList<>();
      for (int i = 0; i < p; i++) {
        for (int j = 0; j < q; j++) {
          int row = i;
          int col = j;
          tiles.add(
              pool.submit(
                  () -> {
                    Random random = new Random(seed * 1000L + row * 100L + col);
                    while (!tile(row, col, p, q, depth, random, failOneIn, between)) {
                      Thread.yield(); // and tried again
                    }
                  }));
        }
      }
      for (Future<?> tile : tiles) {
        tile.get();
      }
    } finally {
      pool.shutdownNow();
    }
  }

  private boolean tile(
      int row,
      int col,
      int p,
      int q,
      int depth,
      Random random,
      int failOneIn,
      Consumer<SharedPanels<Memory>.Member> between) {
    PanelId a = null;
    PanelId b = null;
    try (var member = panels.join("stage")) {
      for (int inner = 0; inner < depth; inner++) {
        between.accept(member);
        a = id("a" + row, inner, q, col);
        b = new PanelId("b" + col, inner, p, row, false);
        assertEquals(row * 100 + inner, seen(member, a, row * 100 + inner, random, failOneIn));
        assertEquals(col * 7 + inner, seen(member, b, col * 7 + inner, random, failOneIn));
      }
      member.passed(a);
      member.passed(b);
      return true;
    } catch (IllegalStateException failure) {
      assertEquals("on purpose", failure.getMessage());
      return false;
    }
  }

  private int seen(
      SharedPanels<Memory>.Member member, PanelId id, int value, Random random, int failOneIn) {
    int[] seen = {-1};
    Runnable fails =
        () -> {
          if (failOneIn > 0 && random.nextInt(failOneIn) == 0) {
            throw new IllegalStateException("on purpose");
          }
        };
    Consumer<Memory> copy =
        memory -> {
          seen[0] = memory.copy();
          fails.run();
        };
    if (random.nextBoolean() && member.find(id, BYTES, copy)) {
      return seen[0];
    }
    member.bring(
        id,
        BYTES,
        copy,
        () -> {
          fails.run();
          uploads.incrementAndGet();
          seen[0] = value;
        },
        memory -> {
          memory.fill(value);
          fails.run();
        });
    return seen[0];
  }

  private static void await(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private static void awaitWaiting(AtomicReference<Thread> waiter) throws InterruptedException {
    while (waiter.get() == null || waiter.get().getState() != Thread.State.WAITING) {
      Thread.sleep(1);
    }
  }
}
