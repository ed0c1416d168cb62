package org.tilespark.kernels.device;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** The order in which tasks wait for each other, with marks that the test lets pass. */
class UploadTurnsTest {
  private final UploadTurns turns = new UploadTurns();

  private static final class PlayedMark implements UploadTurns.Mark {
    private final CountDownLatch done = new CountDownLatch(1);
    private final RuntimeException failure; // null if the copies succeed
    private volatile int closed;

    private PlayedMark(RuntimeException failure) {
      this.failure = failure;
    }

    @Override
    public void synchronize() {
      try {
        assertTrue(done.await(60, TimeUnit.SECONDS), "waits for ever");
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
      if (failure != null) {
        throw failure;
      }
    }

    @Override
    public void close() {
      closed++;
    }
  }

  /** A turn whose copies are under way until the mark is done. */
  private PlayedMark turn(RuntimeException failure) {
    PlayedMark mark = new PlayedMark(failure);
    try (UploadTurns.Turn turn = turns.begin()) {
      turn.add(mark);
    }
    return mark;
  }

  private static Thread startWaiting(Runnable body) throws InterruptedException {
    Thread thread = new Thread(body, "waiting");
    thread.start();
    while (thread.getState() != Thread.State.WAITING
        && thread.getState() != Thread.State.TIMED_WAITING) {
      assertTrue(thread.isAlive(), "did not wait");
      Thread.sleep(1);
    }
    return thread;
  }

  private static void join(Thread thread) throws InterruptedException {
    thread.join(60_000);
    assertFalse(thread.isAlive(), "waits for ever");
  }

  @Test
  void theThirdTurnBeginsWhenTheCopiesOfTheFirstAreDone() throws InterruptedException {
    PlayedMark first = turn(null);
    PlayedMark second = turn(null);
    List<PlayedMark> third = Collections.synchronizedList(new ArrayList<>());
    Thread waiting = startWaiting(() -> third.add(turn(null)));
    second.done.countDown(); // which is not the one that it waits for
    Thread.sleep(20);
    assertEquals(List.of(), third);
    first.done.countDown();
    join(waiting);
    assertEquals(1, third.size());
    assertEquals(List.of(1, 0, 0), List.of(first.closed, second.closed, third.get(0).closed));
    turns.close();
    assertEquals(List.of(1, 1, 1), List.of(first.closed, second.closed, third.get(0).closed));
  }

  @Test
  void firstComeFirstServedAlsoWhoIsInterrupted() throws InterruptedException {
    List<Integer> served = Collections.synchronizedList(new ArrayList<>());
    List<Boolean> interrupted = Collections.synchronizedList(new ArrayList<>());
    List<Thread> threads = new ArrayList<>();
    try (UploadTurns.Turn mine = turns.begin()) {
      for (int i = 0; i < 8; i++) {
        int number = i;
        threads.add(
            startWaiting(
                () -> {
                  try (UploadTurns.Turn turn = turns.begin()) {
                    assertTrue(turn.waitedNanos() > 0);
                    served.add(number);
                    interrupted.add(Thread.currentThread().isInterrupted());
                  }
                }));
      }
      threads.get(3).interrupt();
      assertEquals(List.of(), served);
    }
    for (Thread thread : threads) {
      join(thread);
    }
    assertEquals(List.of(0, 1, 2, 3, 4, 5, 6, 7), served);
    assertEquals(
        List.of(false, false, false, true, false, false, false, false),
        interrupted,
        "its task notices later");
  }

  @Test
  void aTurnThatFailsEnds() throws InterruptedException {
    PlayedMark queued = new PlayedMark(null);
    RuntimeException failure = new IllegalStateException("between two copies");
    assertSame(
        failure,
        assertThrows(
            IllegalStateException.class,
            () -> {
              try (UploadTurns.Turn turn = turns.begin()) {
                turn.add(queued);
                throw failure;
              }
            }));
    turn(null).done.countDown();
    Thread waiting = startWaiting(() -> turn(null)); // for what the failed one had queued
    queued.done.countDown();
    join(waiting);
    assertEquals(1, queued.closed);
  }

  @Test
  void aTurnWithoutCopiesHoldsUpNobody() {
    for (int i = 0; i < 5; i++) {
      turns.begin().close();
    }
    turn(null);
    turn(null);
  }

  @Test
  void copiesThatFailAreToldOnce() {
    RuntimeException failure = new IllegalStateException("device lost");
    PlayedMark first = turn(failure);
    first.done.countDown();
    turn(null).done.countDown();
    assertSame(failure, assertThrows(IllegalStateException.class, () -> turn(null)));
    assertEquals(1, first.closed);
    turn(null);
  }
}
