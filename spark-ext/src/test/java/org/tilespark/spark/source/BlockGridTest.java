package org.tilespark.spark.source;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.tilespark.layout.ElementType;

/** How an array in a file is cut into blocks, and a block into runs of the file. */
class BlockGridTest {
  @Test
  void runsFuseWholeInnerAxes() {
    BoxRuns whole = new BoxRuns(new long[] {4, 5, 6}, new long[] {1, 0, 0}, new long[] {2, 5, 6});
    assertEquals(1, whole.count());
    assertEquals(60, whole.elements());
    assertEquals(30, whole.start(0));
    BoxRuns planes = new BoxRuns(new long[] {4, 5, 6}, new long[] {1, 2, 0}, new long[] {3, 2, 6});
    assertEquals(3, planes.count());
    assertEquals(12, planes.elements());
    assertEquals(72, planes.start(1));
    BoxRuns rows = new BoxRuns(new long[] {4, 5, 6}, new long[] {1, 2, 3}, new long[] {3, 2, 2});
    assertEquals(6, rows.count());
    assertEquals(2, rows.elements());
    assertEquals(30 + 18 + 3, rows.start(1));
    assertEquals(60 + 12 + 3, rows.start(2));
  }

  @Test
  void defaultBlocksAreSomeMebibytes() {
    BlockGrid square =
        BlockGrid.of(Optional.empty(), shape(100_000, 100_000), ElementType.FLOAT32, 1, false);
    assertEquals("[1024, 1024]", java.util.Arrays.toString(square.blockShape()));
    BlockGrid tall =
        BlockGrid.of(Optional.empty(), shape(10_000, 784), ElementType.INT16, 1, false);
    assertEquals("[4096, 784]", java.util.Arrays.toString(tall.blockShape()));
    BlockGrid cube =
        BlockGrid.of(Optional.empty(), shape(1000, 1000, 1000), ElementType.FLOAT64, 1, false);
    assertEquals("[96, 96, 96]", java.util.Arrays.toString(cube.blockShape()));
    BlockGrid small = BlockGrid.of(Optional.empty(), shape(3, 0), ElementType.FLOAT64, 1, false);
    assertEquals(0, small.count());
    Random random = new Random(5);
    for (int i = 0; i < 200; i++) {
      long[] extents = new long[2 + i % 2];
      for (int axis = 0; axis < extents.length; axis++) {
        extents[axis] = 1 + (long) Math.pow(10, 4 * random.nextDouble());
      }
      BlockGrid grid =
          BlockGrid.of(
              Optional.empty(),
              org.tilespark.layout.Shape.of(extents),
              ElementType.INT64,
              2,
              false);
      long bytes = 16;
      for (long extent : grid.blockShape()) {
        bytes *= extent;
      }
      assertTrue(bytes <= 8 << 20, grid.toString());
    }
  }

  private static org.tilespark.layout.Shape shape(long... extents) {
    return org.tilespark.layout.Shape.of(extents);
  }
}
