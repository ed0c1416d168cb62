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
    assertDefault("[1024, 1024]", ElementType.FLOAT32, 100_000, 100_000);
    assertDefault("[4096, 784]", ElementType.INT16, 10_000, 784);
    assertDefault("[128, 128, 128]", ElementType.FLOAT32, 400, 400, 400);
    assertDefault("[96, 96, 96]", ElementType.FLOAT64, 300, 300, 300);
    assertDefault("[192, 96, 192]", ElementType.FLOAT64, 1000, 1000, 1000);
    assertDefault("[256, 96, 256]", ElementType.FLOAT32, 640, 640, 640);
    assertDefault("[129, 256, 129]", ElementType.FLOAT32, 129, 10_000, 129);
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
      long all = 16;
      for (int axis = 0; axis < extents.length; axis++) {
        bytes *= grid.blockShape()[axis];
        all *= extents[axis];
      }
      boolean isVolume = extents.length == 3;
      long most = isVolume ? Math.max(8 << 20, Math.min(32 << 20, all / 32)) : 8 << 20;
      assertTrue(bytes <= most, grid.toString());
      assertTrue(bytes >= Math.min(all, most / 8), grid.toString());
    }
  }

  private static void assertDefault(String blocks, ElementType type, long... extents) {
    BlockGrid grid = BlockGrid.of(Optional.empty(), shape(extents), type, 1, false);
    assertEquals(blocks, java.util.Arrays.toString(grid.blockShape()));
  }

  private static org.tilespark.layout.Shape shape(long... extents) {
    return org.tilespark.layout.Shape.of(extents);
  }
}
