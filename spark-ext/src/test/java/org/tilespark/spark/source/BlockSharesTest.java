package org.tilespark.spark.source;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;

class BlockSharesTest {
  private static final BlockShares.Cost ELEMENTS = size -> size[0] * size[1];

  /** 4 x 4 blocks of 10 x 10 elements, 5 wide at the far edges. */
  private final BlockGrid grid =
      BlockGrid.of(Optional.of("10,10"), Shape.of(35, 35), ElementType.FLOAT64, 1, false);

  private BlockShares shares(long limit, long[]... read) {
    return BlockShares.of(grid, List.of(read), ELEMENTS, total -> limit);
  }

  @Test
  void tasksGetAboutEqualShares() {
    assertEquals(List.of(0L), shares(1225, new long[] {0, 16}).firsts());
    // Halves of 1225 elements: blocks 0 to 7 have 700, blocks 0 to 6 have 650.
    assertEquals(List.of(0L, 7L), shares(1224, new long[] {0, 16}).firsts());
    assertEquals(List.of(0L, 7L), shares(613, new long[] {0, 16}).firsts());
    assertEquals(3, shares(600, new long[] {0, 16}).firsts().size());
    assertEquals(16, shares(1, new long[] {0, 16}).firsts().size());
  }

  @Test
  void whatOneOfThemReadsIsShared() {
    long[] first = {0, 4};
    long[] second = {2, 6, 12, 14};
    BlockShares both = shares(300, first, second);
    assertEquals(shares(300, new long[] {0, 6, 12, 14}), both);
    assertEquals(List.of(0L, 2L, 5L), both.firsts());
    assertParts(both, first, new long[] {0, 2}, new long[] {2, 4}, new long[0]);
    assertParts(both, second, new long[0], new long[] {2, 5}, new long[] {5, 6, 12, 14});
  }

  @Test
  void partsOfRanges() {
    BlockShares shares = new BlockShares(List.of(0L, 5L, 8L));
    long[] ranges = {1, 3, 4, 9, 12, 13};
    assertParts(
        shares, ranges, new long[] {1, 3, 4, 5}, new long[] {5, 8}, new long[] {8, 9, 12, 13});
    assertParts(shares, new long[] {5, 8}, new long[0], new long[] {5, 8}, new long[0]);
  }

  private static void assertParts(BlockShares shares, long[] ranges, long[]... expected) {
    assertArrayEquals(expected, shares.of(ranges).toArray());
  }

  @Test
  void nothingToRead() {
    assertEquals(List.of(0L), shares(100, new long[0]).firsts());
  }
}
