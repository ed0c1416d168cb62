package org.tilespark.layout;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class AxisRangeTest {
  /** The elements of a range, one by one. */
  private static List<Long> listed(AxisRange range) {
    return LongStream.range(0, range.count()).mapToObj(range::at).toList();
  }

  private static AxisRange random(SplittableRandom random, long extent) {
    long start = random.nextLong(extent);
    long step = random.nextLong(1, 6) * (random.nextBoolean() ? 1 : -1);
    long room = (step > 0 ? extent - 1 - start : start) / Math.abs(step);
    return new AxisRange(start, step, 1 + random.nextLong(room + 1));
  }

  @Test
  void partsHoldWhatTheElementsSay() {
    long seed = System.nanoTime();
    SplittableRandom random = new SplittableRandom(seed);
    for (int n = 0; n < 5000; n++) {
      AxisRange range = random(random, 40);
      long from = random.nextLong(40);
      long to = from + 1 + random.nextLong(12);
      List<Long> all = listed(range);
      List<Long> inside = new ArrayList<>();
      all.stream().filter(at -> at >= from && at < to).forEach(at -> inside.add(at - from));
      Optional<AxisRange.Piece> piece = range.within(from, to);
      String what = "seed " + seed + ": " + range + " within " + from + " to " + to;
      assertEquals(inside, piece.map(found -> listed(found.range())).orElse(List.of()), what);
      piece.ifPresent(
          found -> assertEquals(inside.get(0) + from, all.get((int) found.first()), what));
      assertEquals(all.stream().mapToLong(at -> at).min().orElseThrow(), range.low(), what);
      assertEquals(all.stream().mapToLong(at -> at).max().orElseThrow(), range.high(), what);
    }
  }

  @Test
  void oneAfterTheOtherIsOne() {
    long seed = System.nanoTime();
    SplittableRandom random = new SplittableRandom(seed);
    for (int n = 0; n < 1000; n++) {
      AxisRange first = random(random, 60);
      AxisRange second = random(random, first.count());
      List<Long> all = listed(first);
      assertEquals(
          listed(second).stream().map(at -> all.get((int) (long) at)).toList(),
          listed(first.then(second)),
          "seed " + seed);
    }
  }

  @Test
  void evenPiecesAreThoseOfARegularCut() {
    long seed = System.nanoTime();
    SplittableRandom random = new SplittableRandom(seed);
    for (int n = 0; n < 5000; n++) {
      AxisRange range = random(random, 60);
      long block = random.nextLong(1, 20);
      List<Long> pieces = new ArrayList<>();
      long last = -1;
      for (long at : listed(range)) {
        if (at / block == last) {
          pieces.set(pieces.size() - 1, pieces.get(pieces.size() - 1) + 1);
        } else {
          pieces.add(1L);
        }
        last = at / block;
      }
      long each = pieces.get(0);
      boolean even =
          pieces.subList(0, pieces.size() - 1).stream().allMatch(piece -> piece == each)
              && pieces.get(pieces.size() - 1) <= each;
      assertEquals(
          even ? OptionalLong.of(each) : OptionalLong.empty(),
          range.evenPieces(block),
          "seed " + seed + ": " + range + " cut every " + block);
    }
  }

  @Test
  void namesAllElements() {
    assertTrue(AxisRange.all(7).isAll(7));
    assertTrue(new AxisRange(0, -3, 1).isAll(1));
    assertEquals("2:9:3", new AxisRange(2, 3, 3).toString());
    assertEquals("4::-1", new AxisRange(4, -1, 5).toString());
  }

  @Test
  void refusesElementsThatCannotBe() {
    long far = Long.MAX_VALUE;
    for (long[] bad :
        new long[][] {{-1, 1, 1}, {0, 0, 2}, {0, 1, 0}, {3, -2, 3}, {1, far, 3}, {1, -far, 3}}) {
      assertThrows(IllegalArgumentException.class, () -> new AxisRange(bad[0], bad[1], bad[2]));
    }
    assertEquals(far, new AxisRange(1, far - 1, 2).high());
  }
}
