package org.tilespark.layout;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Images of ranges, against the definition of each mode element by element. */
class AxisImagesTest {
  private static final long NOTHING = -1;

  /** As numpy prints {@code np.pad(np.arange(4), (3, 6), mode)}, with 9 for the constant. */
  @Test
  void theModesOfNumpy() {
    assertPadded(Edge.CONSTANT, -1, -1, -1, 0, 1, 2, 3, -1, -1, -1, -1, -1, -1);
    assertPadded(Edge.EDGE, 0, 0, 0, 0, 1, 2, 3, 3, 3, 3, 3, 3, 3);
    assertPadded(Edge.REFLECT, 3, 2, 1, 0, 1, 2, 3, 2, 1, 0, 1, 2, 3);
    assertPadded(Edge.SYMMETRIC, 2, 1, 0, 0, 1, 2, 3, 3, 2, 1, 0, 0, 1);
    assertPadded(Edge.WRAP, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1);
  }

  private static void assertPadded(Edge edge, long... expected) {
    AxisImages images = AxisImages.padded(4, 3, 6, edge, 5);
    long[] found = new long[13];
    Arrays.fill(found, NOTHING);
    for (AxisImages.Image image : images.of(0, 4)) {
      for (long t = image.low(); t < image.high(); t++) {
        found[(int) t] = image.source() + image.step() * (t - image.low());
      }
    }
    assertArrayEquals(expected, found, edge.toString());
  }

  @ParameterizedTest
  @EnumSource
  void everyElementOfEveryCellOnce(Edge edge) {
    for (int seed = 0; seed < 3000; seed++) {
      Random random = new Random(seed);
      long extent = 1L + random.nextInt(9);
      long cell = 1L + random.nextInt(7);
      AxisImages images =
          switch (edge == Edge.NONE ? 2 : random.nextInt(3)) {
            case 0 -> AxisImages.padded(extent, random.nextInt(25), random.nextInt(25), edge, cell);
            case 1 -> AxisImages.rolled(extent, random.nextInt(60) - 30, cell);
            default ->
                AxisImages.haloed(extent, random.nextInt(14), random.nextInt(14), edge, cell);
          };
      long[][] found = new long[(int) ((images.target() + cell - 1) / cell)][];
      for (int part = 0; part < found.length; part++) {
        found[part] = new long[(int) (images.high(part) - images.low(part))];
        assertTrue(found[part].length <= images.largest());
        Arrays.fill(found[part], NOTHING);
      }
      boolean isInOrder = true;
      for (long from = 0; from < extent; ) { // ragged blocks
        long to = Math.min(extent, from + 1 + random.nextInt(4));
        for (AxisImages.Image image : images.of(from, to)) {
          long[] of = found[(int) image.part()];
          for (long t = image.low(); t < image.high(); t++) {
            long source = image.source() + image.step() * (t - image.low());
            assertTrue(source >= from && source < to);
            int at = (int) (t - images.low(image.part()));
            assertEquals(NOTHING, of[at], () -> images + ": an element twice");
            of[at] = source;
          }
          isInOrder &= image.step() == 1;
        }
        from = to;
      }
      for (int part = 0; part < found.length; part++) {
        long[] expected = new long[found[part].length];
        for (int i = 0; i < expected.length; i++) {
          long t = images.low(part) + i;
          expected[i] = source(images.edge(), extent, t - images.shift());
          boolean isFrom = t >= images.firstFrom(t) && t < images.endUpTo(t + 1);
          assertEquals(expected[i] != NOTHING, isFrom, () -> images + " at " + t);
        }
        int of = part;
        assertArrayEquals(expected, found[part], () -> images + ", cell " + of);
      }
      assertTrue(isInOrder || !images.isInOrder(), images::toString);
    }
  }

  /** The source element of element {@code i} of the axis that goes on for ever. */
  private static long source(Edge edge, long n, long i) {
    if (i >= 0 && i < n) {
      return i;
    }
    return switch (edge) {
      case NONE, CONSTANT -> NOTHING;
      case EDGE -> i < 0 ? 0 : n - 1;
      case WRAP -> Math.floorMod(i, n);
      case SYMMETRIC -> {
        long j = Math.floorMod(i, 2 * n);
        yield j < n ? j : 2 * n - 1 - j;
      }
      case REFLECT -> {
        long j = n == 1 ? 0 : Math.floorMod(i, 2 * n - 2);
        yield j < n ? j : 2 * n - 2 - j;
      }
    };
  }

  @Test
  void whatIsPlainlyCopied() {
    assertTrue(AxisImages.rolled(9, 4, 3).isInOrder());
    assertTrue(AxisImages.padded(9, 4, 3, Edge.CONSTANT, 3).isInOrder());
    assertTrue(AxisImages.padded(9, 1, 1, Edge.REFLECT, 3).isInOrder());
    assertEquals(false, AxisImages.padded(9, 2, 0, Edge.REFLECT, 3).isInOrder());
    assertEquals(false, AxisImages.haloed(9, 0, 2, Edge.EDGE, 3).isInOrder());
  }

  @Test
  void farPlacesDoNotOverflow() {
    long most = 1L << 60;
    AxisImages images = AxisImages.padded(10, most - 20, 10, Edge.CONSTANT, 1 << 20);
    assertEquals(
        List.of(new AxisImages.Image((most - 20) >> 20, most - 20, most - 10, 0, 1)),
        images.of(0, 10));
    assertThrows(
        IllegalArgumentException.class, () -> AxisImages.padded(10, most, 1, Edge.CONSTANT, 1));
    assertThrows(IllegalArgumentException.class, () -> AxisImages.rolled(10, 1, 0));
  }

  @Test
  void namesOfModes() {
    assertEquals(Edge.REFLECT, Edge.parse("f: mode", " Reflect", Edge.EDGE, Edge.REFLECT));
    assertEquals(
        "f: mode is 'none'; expected edge, reflect",
        assertThrows(
                IllegalArgumentException.class,
                () -> Edge.parse("f: mode", "none", Edge.EDGE, Edge.REFLECT))
            .getMessage());
  }
}
