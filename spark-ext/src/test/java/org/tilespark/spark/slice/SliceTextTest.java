package org.tilespark.spark.slice;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.tilespark.layout.AxisRange;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.BlockKind;

/** The meaning of slices' texts, compared with numpy. */
class SliceTextTest {
  /** Of numpy 2: {@code np.arange(10)[text]} for the columns of a (3, 10) matrix. */
  @ParameterizedTest(name = "{0}")
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          :             | 0 1 2 3 4 5 6 7 8 9
          2:5           | 2 3 4
          ::3           | 0 3 6 9
          -3:           | 7 8 9
          :-8           | 0 1
          ::-1          | 9 8 7 6 5 4 3 2 1 0
          -2:1:-3       | 8 5 2
          20::-4        | 9 5 1
          -99:2         | 0 1
          3:-99:-1      | 3 2 1 0
          +4 : + 5      | bad
          +4:+6         | 4 5
          7             | 7
          -1            | 9
          8:99:7        | 8
          5::99         | 5
          5:5           | none
          3:2           | none
          2:3:-1        | none
          :-10          | none
          10            | none
          -11           | none
          0:9223372036854775807:9223372036854775807    | 0
          ::-9223372036854775808                       | 9
          0:9223372036854775808 | bad
          ::0           | bad
          1:2:3:4       | bad
          a             | bad
          1.0           | bad
          None          | bad
          """)
  void entriesOfOneAxis(String text, String expected) {
    if (expected.equals("bad")) {
      Exception e =
          assertThrows(
              IllegalArgumentException.class,
              () -> SliceText.parse("matrix_slice: slices", "..., " + text, BlockKind.MATRIX));
      assertTrue(e.getMessage().startsWith("matrix_slice: slices is '..., " + text + "', with '"));
      return;
    }
    SliceText parsed = SliceText.parse("test", "..., " + text, BlockKind.MATRIX);
    if (expected.equals("none")) {
      Exception e =
          assertThrows(
              IllegalArgumentException.class,
              () -> parsed.of(Shape.of(3, 10), BlockKind.MATRIX, "matrix_slice"));
      assertTrue(e.getMessage().contains("along col"), e.getMessage());
      assertTrue(e.getMessage().contains("extents are (3, 10)"), e.getMessage());
      return;
    }
    List<AxisRange> ranges = parsed.of(Shape.of(3, 10), BlockKind.MATRIX, "test").ranges();
    assertEquals(AxisRange.all(3), ranges.get(0));
    assertEquals(
        expected, String.join(" ", listed(ranges.get(1)).stream().map(String::valueOf).toList()));
  }

  private static List<Long> listed(AxisRange range) {
    return LongStream.range(0, range.count()).mapToObj(range::at).toList();
  }

  /** Bounds as Python's slice.indices computes them. */
  @Test
  void anyBoundsAndSteps() {
    long seed = System.nanoTime();
    SplittableRandom random = new SplittableRandom(seed);
    for (int n = 0; n < 3000; n++) {
      long extent = random.nextLong(1, 12);
      long start = random.nextLong(-15, 16);
      long stop = random.nextLong(-15, 16);
      long step = random.nextLong(1, 5) * (random.nextBoolean() ? 1 : -1);
      List<Long> expected = new ArrayList<>();
      long low = step > 0 ? 0 : -1;
      long high = step > 0 ? extent : extent - 1;
      long from = Math.max(low, Math.min(high, start < 0 ? start + extent : start));
      long to = Math.max(low, Math.min(high, stop < 0 ? stop + extent : stop));
      for (long at = from; step > 0 ? at < to : at > to; at += step) {
        expected.add(at);
      }
      String text = start + ":" + stop + ":" + step;
      String what = "seed " + seed + ": " + text + " of " + extent;
      SliceText parsed = SliceText.parse("test", text, BlockKind.MATRIX);
      if (expected.isEmpty()) {
        assertThrows(
            IllegalArgumentException.class,
            () -> parsed.of(Shape.of(extent, 1), BlockKind.MATRIX, "test"),
            what);
      } else {
        assertEquals(
            expected,
            listed(parsed.of(Shape.of(extent, 1), BlockKind.MATRIX, "test").ranges().get(0)),
            what);
      }
    }
  }

  @ParameterizedTest(name = "''{0}''")
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          1:          | 1:5, 0:6, 0:7
          ...         | 0:5, 0:6, 0:7
          ..., 1      | 0:5, 0:6, 1:2
          2, ..., :3  | 2:3, 0:6, 0:3
          ...,1,2,3   | 1:2, 2:3, 3:4
          1,2,...     | 1:2, 2:3, 0:7
          1,2,3,4     | 4 entries
          1,,3        | ''
          ''          | ''
          ...,...     | two of '...'
          """)
  void entriesOfAllAxes(String text, String expected) {
    if (!expected.contains(":")) {
      Exception e =
          assertThrows(
              IllegalArgumentException.class,
              () -> SliceText.parse("volume_slice: slices", text, BlockKind.VOLUME));
      assertTrue(e.getMessage().contains(expected), e.getMessage());
      return;
    }
    assertEquals(
        "slice " + expected,
        SliceText.parse("test", text, BlockKind.VOLUME)
            .of(Shape.of(5, 6, 7), BlockKind.VOLUME, "test")
            .toString());
  }
}
