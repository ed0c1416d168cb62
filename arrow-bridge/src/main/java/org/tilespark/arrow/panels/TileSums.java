package org.tilespark.arrow.panels;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.tilespark.arrow.panels.PanelMultiplier.PanelProduct;
import org.tilespark.arrow.panels.PanelMultiplier.Tile;

/**
 * How the products of many panels are added up, so that errors do not grow with their count.
 *
 * <p>A tile to which n panels are added one after the other is the end of a chain of n additions,
 * and a chain of n additions may err by n units in the last place. What is allowed for a sum of K
 * terms is 2 sqrt(K) units. Panels that are d deep bring 2 sqrt(d) units of their own, so one chain
 * is good enough while {@code n <= 2 sqrt(K) - 2 sqrt(d)}. Beyond, sqrt(n) panels are added to a
 * first tile, of partial sums, and that one to a second, of totals, and cleared: two chains of
 * sqrt(n), and {@code 2 sqrt(d) + 2 sqrt(n) <= 2 sqrt(n d)} from d and n of 4 on.
 */
final class TileSums {
  private final long group;
  private long made;

  /** No addition was made to {@code tile}. */
  TileSums(Tile tile) {
    this.group = group(tile.panel().k(), tile.additions());
  }

  /**
   * Additions to the partial sums before they are added to the totals.
   *
   * @param depth terms that one addition brings
   * @param additions to an element of the tile in all, at most
   * @return 0 if one tile will do
   */
  static long group(long depth, long additions) {
    double root = Math.sqrt((double) additions);
    boolean oneIsEnough =
        additions <= 4 || root * root <= 2 * Math.sqrt(Math.max(1.0, (double) depth)) * (root - 1);
    return oneIsEnough ? 0 : (long) Math.ceil(root);
  }

  /** True if there is a second tile. */
  boolean hasTotals() {
    return group > 0;
  }

  /** Counts these products; true if the partial sums must be added to the totals before. */
  boolean isFullFor(List<PanelProduct> products) {
    if (group == 0) {
      return false;
    }
    // Where blocks are missing, only parts of the tile are added to, some of them several times.
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
