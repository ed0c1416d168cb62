package org.tilespark.spark.exchange;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.tilespark.layout.AxisCuts;
import org.tilespark.layout.Box;
import org.tilespark.layout.Cuts;
import org.tilespark.layout.PieceCursor;

/** Boxes, cuts along axes, and the pieces that both make. */
class CutsTest {
  @Test
  void boxes() {
    Box box = Box.at(new long[] {4, 6}, new long[] {4, 6});
    assertEquals("[4:8, 6:12]", box.toString());
    assertEquals(24, box.volume());
    assertEquals("[-2:1]", Box.at(new long[] {-2}, new long[] {3}).toString());
    long far = 1L << 40;
    assertEquals(far * 4, Box.at(new long[] {far, far}, new long[] {far, 4}).volume());
    assertThrows(
        ArithmeticException.class, () -> Box.at(new long[] {0, 0}, new long[] {far, far}).volume());
    for (long[][] bad : new long[][][] {{{3}, {0}}, {{Long.MAX_VALUE}, {1}}, {{0, 0}, {1}}}) {
      assertThrows(IllegalArgumentException.class, () -> Box.at(bad[0], bad[1]));
    }
  }

  @Test
  void everyStep() {
    AxisCuts cuts = AxisCuts.every(7, 20);
    assertEquals(3, cuts.parts());
    assertEquals(
        List.of(0L, 0L, 1L, 2L),
        List.of(part(cuts, 0), part(cuts, 6), part(cuts, 7), part(cuts, 19)));
    assertEquals(14, cuts.low(2));
    assertEquals(20, cuts.high(2));
    assertEquals(7, cuts.largest());
    assertThrows(IndexOutOfBoundsException.class, () -> cuts.part(20));
    AxisCuts endless = AxisCuts.every(1L << 40);
    assertEquals(3, endless.part((3L << 40) + 5));
    assertEquals(4L << 40, endless.high(3));
    AxisCuts last = AxisCuts.every(Long.MAX_VALUE - 1, Long.MAX_VALUE);
    assertEquals(2, last.parts());
    assertEquals(Long.MAX_VALUE, last.high(1));
    assertThrows(IllegalArgumentException.class, () -> AxisCuts.every(0, 5));
  }

  private static Long part(AxisCuts cuts, long element) {
    return cuts.part(element);
  }

  @Test
  void atPlaces() {
    AxisCuts cuts = AxisCuts.at(0, 3, 4, 10);
    assertEquals(3, cuts.parts());
    assertEquals(0, cuts.part(2));
    assertEquals(1, cuts.part(3));
    assertEquals(2, cuts.part(9));
    assertEquals(6, cuts.largest());
    assertThrows(IndexOutOfBoundsException.class, () -> cuts.part(10));
    assertThrows(IllegalArgumentException.class, () -> AxisCuts.at(1, 2));
    assertThrows(IllegalArgumentException.class, () -> AxisCuts.at(0, 2, 2));
  }

  @Test
  void everyStepWithinPlaces() {
    AxisCuts cuts = AxisCuts.within(4, 0, 3, 10, 20);
    AxisCuts same = AxisCuts.at(0, 3, 7, 10, 14, 18, 20);
    assertEquals(same.parts(), cuts.parts());
    for (long part = 0; part < same.parts(); part++) {
      assertEquals(same.low(part), cuts.low(part));
      assertEquals(same.high(part), cuts.high(part));
    }
    for (long element = 0; element < 20; element++) {
      assertEquals(same.part(element), cuts.part(element));
    }
    assertEquals(4, cuts.largest());
    assertEquals(20, cuts.extent());
    assertThrows(IndexOutOfBoundsException.class, () -> cuts.part(20));
    assertThrows(IllegalArgumentException.class, () -> AxisCuts.within(0, 0, 3));
    long far = Long.MAX_VALUE;
    AxisCuts wide = AxisCuts.within(far - 1, 0, 5, far);
    assertEquals(2, wide.parts());
    assertEquals(far, wide.high(1));
    assertEquals(1, wide.part(far - 1));
  }

  @ParameterizedTest
  @CsvSource({
    "10, 3, 1, '0 3 6 10'",
    "100, 4, 25, '0 25 50 75 100'",
    // Moved to where blocks begin, as long as no part grows by more than a twentieth.
    "4096, 3, 64, '0 1344 2752 4096'",
    "16384, 3, 2048, '0 5461 10922 16384'",
    "5, 5, 4, '0 1 2 3 4 5'",
    "9223372036854775807, 2, 1, '0 4611686018427387903 9223372036854775807'"
  })
  void evenParts(long extent, int parts, long grain, String expected) {
    AxisCuts cuts = AxisCuts.even(extent, parts, grain);
    assertEquals(
        AxisCuts.at(Arrays.stream(expected.split(" ", -1)).mapToLong(Long::parseLong).toArray()),
        cuts);
  }

  @Test
  void evenPartsAreNeverMuchLargerThanTheyMust() {
    Random random = new Random(3);
    for (int i = 0; i < 2000; i++) {
      long extent = 1L + random.nextInt(100_000);
      int parts = 1 + random.nextInt((int) Math.min(extent, 300));
      AxisCuts cuts = AxisCuts.even(extent, parts, 1 + random.nextInt(3000));
      assertEquals(parts, cuts.parts());
      assertEquals(extent, cuts.extent());
      assertTrue(
          cuts.largest() <= Math.ceil((double) extent / parts) * 1.05, cuts + " of " + extent);
    }
  }

  /** The part of a box in one cell. */
  private record Piece(List<Long> part, Box box) {}

  private static List<Piece> pieces(Cuts cuts, Box box) {
    List<Piece> pieces = new ArrayList<>();
    PieceCursor cursor = new PieceCursor(cuts);
    cursor.start(box.offset(), box.sizes());
    while (cursor.advance()) {
      pieces.add(
          new Piece(
              Arrays.stream(cursor.part()).boxed().toList(),
              Box.between(cursor.low(), cursor.high())));
    }
    return pieces;
  }

  /** Every element of the box is in exactly the piece of its own cell. */
  @Test
  void piecesAreABoxesIntersectionsWithCells() {
    Random random = new Random(5);
    for (int round = 0; round < 500; round++) {
      int rank = 1 + random.nextInt(3);
      AxisCuts[] axes = new AxisCuts[rank];
      long[] offset = new long[rank];
      long[] size = new long[rank];
      for (int axis = 0; axis < rank; axis++) {
        long extent = 1L + random.nextInt(20);
        axes[axis] =
            switch (random.nextInt(4)) {
              case 0 -> AxisCuts.every(1 + random.nextInt(8), extent);
              case 1 -> AxisCuts.every(1 + random.nextInt(8));
              case 2 -> AxisCuts.within(1 + random.nextInt(8), 0, (extent + 1) / 2, extent + 1);
              default ->
                  AxisCuts.even(extent, 1 + random.nextInt((int) extent), 1 + random.nextInt(4));
            };
        offset[axis] = random.nextInt((int) extent);
        size[axis] = 1L + random.nextInt((int) (extent - offset[axis]));
      }
      Cuts cuts = Cuts.of(axes);
      Box box = Box.at(offset, size);
      long volume = 0;
      for (Piece piece : pieces(cuts, box)) {
        long[] part = piece.part().stream().mapToLong(Long::longValue).toArray();
        for (int axis = 0; axis < part.length; axis++) {
          assertEquals(Math.max(axes[axis].low(part[axis]), box.low(axis)), piece.box().low(axis));
          assertEquals(
              Math.min(axes[axis].high(part[axis]), box.high(axis)), piece.box().high(axis));
        }
        volume += piece.box().volume();
      }
      assertEquals(box.volume(), volume);
      assertEquals(
          pieces(cuts, box).size(), pieces(cuts, box).stream().map(Piece::part).distinct().count());
    }
  }

  @Test
  void aBoxBeyondTheEndIsRefused() {
    Cuts cuts = Cuts.of(AxisCuts.every(4, 10), AxisCuts.every(4, 10));
    assertThrows(
        IndexOutOfBoundsException.class,
        () -> pieces(cuts, Box.at(new long[] {8, 8}, new long[] {2, 3})));
    assertEquals(9, cuts.cells());
  }

  /** Predicted sizes are those of the pieces one gets. */
  @Test
  void sizesOfPieces() {
    Random random = new Random(9);
    for (int round = 0; round < 300; round++) {
      int rank = 1 + random.nextInt(3);
      AxisCuts[] from = new AxisCuts[rank];
      AxisCuts[] to = new AxisCuts[rank];
      for (int axis = 0; axis < rank; axis++) {
        long extent = 1L + random.nextInt(30);
        from[axis] = AxisCuts.every(1 + random.nextInt(9), extent);
        to[axis] = AxisCuts.even(extent, 1 + random.nextInt((int) extent), 1);
      }
      Cuts source = Cuts.of(from);
      Cuts target = Cuts.of(to);
      long[] size = new long[rank];
      Arrays.setAll(size, axis -> from[axis].extent());
      long expected = 0;
      long count = 0;
      for (Piece cell : pieces(source, Box.at(new long[rank], size))) {
        for (Piece piece : pieces(target, cell.box())) {
          expected += piece.box().volume() * piece.box().volume() + 3;
          count++;
        }
      }
      PieceSizes sizes = new PieceSizes(source, target);
      assertEquals(count, sizes.count());
      assertEquals(expected, sizes.sum(n -> n * n + 3));
    }
  }

  @Test
  void sizesOfVeryManyPiecesAreEstimated() {
    long extent = 1L << 40;
    PieceSizes sizes =
        new PieceSizes(
            Cuts.of(AxisCuts.every(1 << 10, extent), AxisCuts.every(64, 64)),
            Cuts.of(AxisCuts.every(1 << 12, extent), AxisCuts.every(64, 64)));
    long elements = sizes.sum(n -> n);
    assertEquals(1.0, (double) elements / (extent * 64.0), 0.01);
    PieceSizes coprime =
        new PieceSizes(
            Cuts.of(every(9973), every(9967), every(9949)),
            Cuts.of(every(9941), every(9931), every(9929)));
    assertEquals(
        1.0, (double) coprime.sum(n -> n) / ((double) (1 << 20) * (1 << 20) * (1 << 20)), 0.02);
  }

  private static AxisCuts every(long step) {
    return AxisCuts.every(step, 1 << 20);
  }
}
