package org.tilespark.arrow.panels;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.tilespark.arrow.panels.PanelMultiplier.PanelProduct;
import org.tilespark.arrow.panels.PanelMultiplier.Tile;

/**
 * Adds up the products of many panels in an order that bounds the rounding error.
 *
 * <p>Adding n panels one after the other is a chain of n additions, whose error may be n units in
 * the last place. The allowed error of a sum of K terms is 2 sqrt(K) units. The product of a panel
 * with d steps of K already has an error of 2 sqrt(d) units, so one chain suffices while {@code n
 * <= 2 sqrt(K) - 2 sqrt(d)}. For larger n, sqrt(n) panels are added to a tile of partial sums,
 * which is then added to a tile of totals and cleared. These are two chains of sqrt(n) additions,
 * and {@code 2 sqrt(d) + 2 sqrt(n) <= 2 sqrt(n d)} if d and n are at least 4.
 */
final class TileSums {
  private final long group;
  private long made;

  /** The sums of {@code tile}, to which nothing was added yet. */
  TileSums(Tile tile) {
    this.group = group(tile.panel().k(), tile.additions());
  }

  /**
   * Number of additions to the partial sums before these are added to the totals.
   *
   * @param depth number of steps of K in one addition
   * @param additions most additions to an element of the tile
   * @return that number; 0 if one tile suffices
   */
  static long group(long depth, long additions) {
    double root = Math.sqrt((double) additions);
    boolean oneIsEnough =
        additions <= 4 || root * root <= 2 * Math.sqrt(Math.max(1.0, (double) depth)) * (root - 1);
    return oneIsEnough ? 0 : (long) Math.ceil(root);
  }

  /** True if there is a second tile, for totals. */
  boolean hasTotals() {
    return group > 0;
  }

  /** Counts these products; true if the partial sums must be added to the totals before. */
  boolean isFullFor(List<PanelProduct> products) {
    if (group == 0) {
      return false;
    }
    // If blocks are missing, products cover only parts of the tile, some of them several times.
    Map<Long, Long> byPart = new HashMap<>();
    for (PanelProduct product : products) {
      byPart.merge(product.startC(), 1L, Long::sum);
    }
    long more = byPart.values().stream().max(Long::compare).orElse(0L);
    boolean full = made > 0 && made + more > group;
    made = full ? more : made + more;
    return full;
  }
}
