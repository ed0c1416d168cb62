package org.tilespark.spark.shuffle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.tilespark.spark.shuffle.Releases.Answer;
import org.tilespark.spark.shuffle.Releases.Question;
import org.tilespark.spark.shuffle.Releases.Release;

/** What the driver tells executors. */
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
}
