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
    return new Ahead.Step(name, () -> taken.add(name));
  }

  private static Ahead.Step failing(Runnable work) {
    return new Ahead.Step("what fails", work);
  }

  private String next() throws InterruptedException {
    return taken.poll(60, TimeUnit.SECONDS);
  }

  @Test
  void stepsComeInOrderOnAnotherThread() throws InterruptedException {
    Thread here = Thread.currentThread();
    Ahead.Step second =
        new Ahead.Step(
            "second", () -> taken.add(Thread.currentThread() == here ? "here" : "second"));
    try (Ahead ahead = Ahead.begin(List.of(step("first"), second, step("third")))) {
      assertEquals(Arrays.asList("first", "second", "third"), List.of(next(), next(), next()));
    }
  }

  @Test
  void closingWaitsForTheStepUnderWayAndTakesNoOther() throws InterruptedException {
    CountDownLatch goesOn = new CountDownLatch(1);
    Ahead.Step slow =
        new Ahead.Step(
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
