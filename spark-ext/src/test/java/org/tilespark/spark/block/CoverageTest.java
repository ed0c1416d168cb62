package org.tilespark.spark.block;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;

class CoverageTest {
  private static Optional<String> matrix(long rows, long cols, long[]... boxes) {
    return Coverage.defect(
        ArrayAxes.of(BlockKind.MATRIX),
        new long[] {rows, cols},
        Arrays.stream(boxes).flatMapToLong(Arrays::stream).toArray());
  }

  @Test
  void namesTheHole() {
    assertEquals(Optional.empty(), matrix(2, 2, new long[] {0, 0, 2, 2}));
    String hole = matrix(4, 6, new long[] {0, 0, 2, 6}, new long[] {2, 0, 2, 4}).orElseThrow();
    assertTrue(
        hole.startsWith("no block at row 2, col 4: expected blocks to hold the 2 x 2"), hole);
    assertTrue(matrix(3, 4).orElseThrow().contains("3 x 4"));
    assertEquals(Optional.empty(), matrix(0, 4));
  }

  @Test
  void namesBothBlocksOfAnOverlap() {
    String overlap = matrix(4, 4, new long[] {0, 0, 4, 3}, new long[] {0, 2, 4, 2}).orElseThrow();
    assertTrue(overlap.contains("block at row 0, col 0 (4 x 3)"), overlap);
    assertTrue(overlap.contains("block at row 0, col 2 (4 x 2)"), overlap);
    assertTrue(overlap.contains("both hold the element at row 0, col 2"), overlap);
    String twice = matrix(2, 2, new long[] {0, 0, 2, 2}, new long[] {0, 0, 2, 2}).orElseThrow();
    assertTrue(twice.contains("overlap"), twice);
  }

  @Test
  void findsTheDefectOfRandomTilings() {
    Random random = new Random(42);
    for (int round = 0; round < 200; round++) {
      long[] extents = {1 + random.nextInt(12), 1 + random.nextInt(12), 1 + random.nextInt(12)};
      List<long[]> boxes = new ArrayList<>();
      split(new long[3], extents, random, boxes, 4);
      Collections.shuffle(boxes, random);
      assertEquals(Optional.empty(), volume(extents, boxes), "round " + round);
      List<long[]> holed = new ArrayList<>(boxes.subList(1, boxes.size()));
      assertTrue(volume(extents, holed).orElseThrow().startsWith("no block at"));
      long[] extra = {random.nextInt((int) extents[0]), 0, 0, 1, 1, 1};
      List<long[]> doubled = new ArrayList<>(boxes);
      doubled.add(extra);
      String overlap = volume(extents, doubled).orElseThrow();
      assertTrue(overlap.contains("overlap"), overlap);
      assertTrue(overlap.contains("element at x " + extra[0] + ", y 0, z 0"), overlap);
    }
  }

  private static Optional<String> volume(long[] extents, List<long[]> boxes) {
    return Coverage.defect(
        ArrayAxes.of(BlockKind.VOLUME),
        extents,
        boxes.stream().flatMapToLong(Arrays::stream).toArray());
  }

  private static void split(
      long[] offset, long[] size, Random random, List<long[]> boxes, int depth) {
    int axis = random.nextInt(3);
    if (depth == 0 || size[axis] < 2) {
      boxes.add(new long[] {offset[0], offset[1], offset[2], size[0], size[1], size[2]});
      return;
    }
    long cut = 1L + random.nextInt((int) size[axis] - 1);
    long[] low = size.clone();
    low[axis] = cut;
    split(offset, low, random, boxes, depth - 1);
    long[] place = offset.clone();
    long[] high = size.clone();
    place[axis] += cut;
    high[axis] -= cut;
    split(place, high, random, boxes, depth - 1);
  }

  @Test
  void aMillionBoxesTakeSeconds() {
    int side = 1000;
    long[] boxes = new long[side * side * 4];
    for (int i = 0; i < side * side; i++) {
      boxes[4 * i] = i / side * 7L;
      boxes[4 * i + 1] = i % side * 5L;
      boxes[4 * i + 2] = 7;
      boxes[4 * i + 3] = 5;
    }
    long[] extents = {7L * side, 5L * side};
    long start = System.nanoTime();
    assertEquals(Optional.empty(), Coverage.defect(ArrayAxes.of(BlockKind.MATRIX), extents, boxes));
    boxes[boxes.length - 1] = 4;
    assertTrue(Coverage.defect(ArrayAxes.of(BlockKind.MATRIX), extents, boxes).isPresent());
    // 1 to 8 s were seen; each box with all others would be 10^12 comparisons.
    assertTrue(System.nanoTime() - start < 200_000_000_000L);
  }
}
