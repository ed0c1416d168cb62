package org.tilespark.arrow.panels;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.tilespark.arrow.panels.PanelMultiplier.PanelProduct;
import org.tilespark.arrow.panels.PanelMultiplier.Tile;
import org.tilespark.kernels.multiply.Extents;
import org.tilespark.kernels.multiply.MultiplyProblem;
import org.tilespark.kernels.multiply.MultiplyProblem.Batch;
import org.tilespark.kernels.multiply.MultiplyProblem.Factors;
import org.tilespark.kernels.multiply.MultiplyProblem.Stored;
import org.tilespark.kernels.multiply.Precision;
import org.tilespark.layout.ElementType;

class TileSumsTest {
  /** The additions of deep panels, and of one or two chains, are never too many. */
  @Test
  void chainsAreShortEnoughForAnyInput() {
    for (long depth : new long[] {1, 2, 4, 16, 64, 512, 8192, 100_000}) {
      for (long panels = 1; panels <= 1L << 32; panels = panels * 3 / 2 + 1) {
        long group = TileSums.group(depth, panels);
        double chains =
            2 * Math.sqrt((double) depth)
                + (group == 0 ? panels : group + Math.ceil((double) panels / group));
        double allowed = 2 * Math.sqrt((double) depth * panels);
        boolean few = panels <= 4 || depth < 4; // a handful of units more
        assertTrue(
            chains <= allowed + (few ? 8 : 2), depth + " x " + panels + ": " + chains + " units");
      }
    }
  }

  /** The usual product needs no second tile. */
  @Test
  void deepPanelsNeedOneTile() {
    assertEquals(0, TileSums.group(512, 64)); // K = 32768
    assertEquals(0, TileSums.group(512, 1900)); // nearly a million
    assertEquals(0, TileSums.group(32_768, 306)); // 10 million
    assertEquals(45, TileSums.group(512, 1960));
    assertEquals(142, TileSums.group(4, 20_000));
    assertEquals(0, TileSums.group(0, 0));
    assertEquals(0, TileSums.group(1, 4));
  }

  private static PanelProduct product(long k, long startC) {
    return new PanelProduct(
        new MultiplyProblem(
            new Extents(8, k, 8),
            ElementType.FLOAT32,
            Precision.FULL,
            new Stored(false, k),
            new Stored(true, k),
            8,
            Factors.ADD,
            Batch.ONE),
        0,
        0,
        startC);
  }

  @Test
  void countsWhatMeetsInOneElement() {
    PanelProduct whole = product(1, 0);
    TileSums sums = new TileSums(new Tile(whole.problem(), false, 100)); // groups of 10
    assertTrue(sums.hasTotals());
    List<PanelProduct> mixed =
        List.of(product(1, 0), product(1, 64), product(1, 0), product(1, 128));
    for (int i = 0; i < 5; i++) {
      assertFalse(sums.isFullFor(mixed), "two at a time");
    }
    assertTrue(sums.isFullFor(List.of(whole)));
    for (int i = 0; i < 9; i++) {
      assertFalse(sums.isFullFor(List.of(whole)));
    }
    assertTrue(sums.isFullFor(mixed));
    TileSums one = new TileSums(new Tile(product(64, 0).problem(), false, 100));
    assertFalse(one.hasTotals());
    for (int i = 0; i < 1000; i++) {
      assertFalse(one.isFullFor(List.of(whole)));
    }
  }
}
