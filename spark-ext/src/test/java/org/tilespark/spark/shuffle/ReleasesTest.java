package org.tilespark.spark.shuffle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.tilespark.spark.shuffle.Releases.Answer;
import org.tilespark.spark.shuffle.Releases.Question;
import org.tilespark.spark.shuffle.Releases.Release;

/** News of the driver for executors. */
class ReleasesTest {
  private final Releases releases = new Releases();
  private final List<Release> heard = new ArrayList<>();
  private final ReleaseNews news = new ReleaseNews(heard::add);

  private void add(int from, int to) {
    IntStream.range(from, to).forEach(i -> releases.add(new Release(i, 10L * i)));
  }

  private static List<Integer> shuffles(List<Release> releases) {
    return releases.stream().map(Release::shuffle).toList();
  }

  @Test
  void eachIsHeardOnce() throws Exception {
    news.hear(question -> releases.answer((Question) question).encoded());
    assertEquals(List.of(), heard);
    add(0, 3);
    news.hear(question -> releases.answer((Question) question).encoded());
    add(3, 5);
    news.hear(question -> releases.answer((Question) question).encoded());
    news.hear(question -> releases.answer((Question) question).encoded());
    assertEquals(List.of(0, 1, 2, 3, 4), shuffles(heard));
    assertEquals(40, heard.get(4).lastMap());
  }

  @Test
  void oneThatFailsDoesNotStopTheOthers() throws Exception {
    ReleaseNews failing =
        new ReleaseNews(
            release -> {
              heard.add(release);
              if (release.shuffle() == 1) {
                throw new IllegalStateException("on purpose");
              }
            });
    add(0, 4);
    failing.hear(question -> releases.answer((Question) question).encoded());
    assertEquals(List.of(0, 1, 2, 3), shuffles(heard));
  }

  @Test
  void theOldestAreForgotten() {
    add(0, 5000);
    Answer answer = releases.answer(new Question(10));
    assertEquals(5000, answer.next());
    assertEquals(5000 - 4096, answer.releases().get(0).shuffle());
    assertEquals(4096, answer.releases().size());
    assertEquals(List.of(4998, 4999), shuffles(releases.answer(new Question(4998)).releases()));
    assertEquals(List.of(), releases.answer(new Question(5000)).releases());
  }

  @Test
  void tasksAskOnlyOnceInAWhile() throws Exception {
    assertFalse(news.hearAgain(), "nobody to ask");
    news.hear(question -> releases.answer((Question) question).encoded());
    add(0, 1);
    assertFalse(news.hearAgain(), "it asked just now");
    Thread.sleep(150);
    assertTrue(news.hearAgain());
    Thread.sleep(150);
    assertFalse(news.hearAgain(), "nothing new");
    assertEquals(List.of(0), shuffles(heard));
  }

  @Test
  void aDriverThatDoesNotAnswerIsNoFailureOfTasks() throws Exception {
    assertThrows(
        IOException.class,
        () ->
            news.hear(
                question -> {
                  throw new IOException("gone");
                }));
    Thread.sleep(150);
    assertFalse(news.hearAgain());
  }

  /** Spark gives a question up after 120 s. */
  @Test
  void aDriverThatIsSilentKeepsNoTaskWaiting() throws Exception {
    CountDownLatch silence = new CountDownLatch(1);
    AtomicInteger questions = new AtomicInteger();
    AtomicBoolean isSilent = new AtomicBoolean();
    TileShuffleManager.Asks driver =
        question -> {
          questions.incrementAndGet();
          if (isSilent.get()) {
            silence.await();
          }
          return releases.answer((Question) question).encoded();
        };
    news.hear(driver);
    isSilent.set(true);
    Thread.sleep(150);
    long start = System.nanoTime();
    List<Thread> tasks =
        IntStream.range(0, 8)
            .mapToObj(i -> new Thread(() -> assertFalse(news.hearAgain()), "task " + i))
            .toList();
    tasks.forEach(Thread::start);
    for (Thread task : tasks) {
      task.join();
    }
    for (int i = 0; i < 1000; i++) {
      assertFalse(news.hearAgain());
    }
    news.hear(driver); // another thread does
    long millis = (System.nanoTime() - start) / 1_000_000;
    assertTrue(millis < 5_000, () -> millis + " ms");
    assertEquals(2, questions.get());
    isSilent.set(false);
    silence.countDown();
    add(0, 1);
    for (int i = 0; i < 1000 && heard.isEmpty(); i++) {
      boolean ignored = news.hearAgain();
      Thread.sleep(5);
    }
    assertEquals(List.of(0), shuffles(heard));
  }
}
