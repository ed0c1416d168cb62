package org.tilespark.spark.runtime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.tilespark.spark.error.StoppedException;

/** Steps that are taken before anybody needs them. */
class AheadTest {
  private final BlockingQueue<String> taken = new LinkedBlockingQueue<>();

  private Ahead.Step step(String name) {
    return Ahead.Step.once(name, () -> taken.add(name));
  }

  private static Ahead.Step failing(Runnable work) {
    return Ahead.Step.once("what fails", work);
  }

  private String next() throws InterruptedException {
    return taken.poll(60, TimeUnit.SECONDS);
  }

  @Test
  void stepsComeInOrderOnAnotherThread() throws InterruptedException {
    Thread here = Thread.currentThread();
    Ahead.Step second =
        Ahead.Step.once(
            "second", () -> taken.add(Thread.currentThread() == here ? "here" : "second"));
    try (Ahead ahead = Ahead.begin(List.of(step("first"), second, step("third")))) {
      assertEquals(Arrays.asList("first", "second", "third"), List.of(next(), next(), next()));
    }
  }

  @Test
  void aStepOfPartsIsTakenUntilNothingIsLeft() throws InterruptedException {
    Ahead.Step parts = new Ahead.Step("parts", () -> taken.add("part") && taken.size() < 3);
    Ahead ahead = Ahead.begin(List.of(parts, step("last")));
    ended();
    ahead.close();
    assertEquals(List.of("part", "part", "part", "last"), List.copyOf(taken));
  }

  @Test
  void closingLeavesFurtherPartsUndone() throws InterruptedException {
    CountDownLatch goesOn = new CountDownLatch(1);
    Ahead.Step endless =
        new Ahead.Step(
            "endless",
            () -> {
              taken.add("part");
              awaitQuietly(goesOn);
              return true;
            });
    Ahead ahead = Ahead.begin(List.of(endless));
    assertEquals("part", next());
    Thread closing = new Thread(ahead::close, "closing");
    closing.start();
    closing.join(300);
    goesOn.countDown();
    closing.join(60_000);
    assertFalse(closing.isAlive());
    assertTrue(taken.isEmpty(), taken::toString);
  }

  @Test
  void closingWaitsForTheStepUnderWayAndTakesNoOther() throws InterruptedException {
    CountDownLatch goesOn = new CountDownLatch(1);
    Ahead.Step slow =
        Ahead.Step.once(
            "slow",
            () -> {
              taken.add("begun");
              awaitQuietly(goesOn);
              taken.add("done");
            });
    Ahead ahead = Ahead.begin(List.of(slow, step("never")));
    assertEquals("begun", next());
    Thread closing = new Thread(ahead::close, "closing");
    closing.start();
    closing.join(300);
    assertTrue(closing.isAlive(), "it did not wait");
    goesOn.countDown();
    closing.join(60_000);
    assertFalse(closing.isAlive());
    ahead.close();
    assertEquals("done", taken.poll());
    assertTrue(taken.isEmpty(), taken::toString);
  }

  @Test
  void aFailureEndsThemAndReachesNobody() throws InterruptedException {
    List<Runnable> failures =
        List.of(
            () -> {
              throw new IllegalStateException("of a test");
            },
            () -> {
              throw new UnsatisfiedLinkError("of a test");
            },
            () -> {
              throw new StoppedException("of a test");
            });
    Thread.UncaughtExceptionHandler before = Thread.getDefaultUncaughtExceptionHandler();
    Thread.setDefaultUncaughtExceptionHandler((thread, failure) -> taken.add("uncaught"));
    try {
      for (Runnable failure : failures) {
        Ahead ahead = Ahead.begin(List.of(step("first"), failing(failure), step("never")));
        assertEquals("first", next());
        ended();
        ahead.close();
        assertTrue(taken.isEmpty(), taken::toString);
      }
    } finally {
      Thread.setDefaultUncaughtExceptionHandler(before);
    }
  }

  /** Waits until no thread of steps is alive. */
  private static void ended() throws InterruptedException {
    for (Thread thread : Thread.getAllStackTraces().keySet()) {
      if (thread.getName().equals("tilespark-ahead")) {
        thread.join(60_000);
        assertFalse(thread.isAlive());
      }
    }
  }

  private static void awaitQuietly(CountDownLatch latch) {
    try {
      assertTrue(latch.await(60, TimeUnit.SECONDS));
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }
}
