package org.tilespark.spark.multiply;

import java.util.List;
import java.util.Optional;
import org.apache.arrow.memory.BufferAllocator;
import org.tilespark.arrow.panels.PanelMultiplier;
import org.tilespark.arrow.panels.PanelMultiplier.Panel;
import org.tilespark.arrow.panels.PanelMultiplier.PanelProduct;
import org.tilespark.arrow.panels.PanelMultiplier.Panels;
import org.tilespark.arrow.panels.PanelMultiplier.Wanted;
import org.tilespark.kernels.multiply.Extents;
import org.tilespark.kernels.multiply.MultiplyProblem;
import org.tilespark.kernels.multiply.MultiplyProblem.Batch;
import org.tilespark.kernels.multiply.MultiplyProblem.Factors;
import org.tilespark.kernels.multiply.MultiplyProblem.Stored;
import org.tilespark.kernels.select.SelectedColumns;
import org.tilespark.spark.multiply.scores.TileSearch;
import org.tilespark.spark.multiply.scores.TileSides;

/**
 * Small tiles of the product of the vectors that a task holds; everything is borrowed.
 *
 * @param a the vectors of A
 * @param b the vectors of B
 */
record TileProducts(MultiplySpec spec, VectorSide a, VectorSide b, Means means) {
  /**
   * The resources with which a task reduces products, all borrowed.
   *
   * @param sides most rows and columns of a tile
   * @param allocator allocator of the vectors
   */
  record Means(
      PanelMultiplier multiplier,
      TileSides sides,
      BufferAllocator allocator,
      PanelTask.Listener listener) {}

  /** The most rows and columns of a tile. */
  TileSides sides() {
    return means.sides;
  }

  /**
   * Computes a tile, and returns the columns that a search selects in it; valid until the next
   * tile. The search must have begun with these rows.
   *
   * @param firstRow index of the tile's first row among the vectors of A; {@code firstCol}
   *     likewise, of its first column among those of B
   */
  SelectedColumns select(TileSearch search, long firstRow, int rows, long firstCol, int cols) {
    multiply(firstRow, rows, firstCol, cols);
    return means.multiplier.select(
        search.columns(firstCol, cols)); // found while a device multiplies
  }

  /** Reduces all rows of a tile. */
  void reduce(TileSearch search, long firstRow, int rows, long firstCol, int cols) {
    SelectedColumns selected = select(search, firstRow, rows, firstCol, cols);
    for (int row = 0; row < rows; row++) {
      search.reduce(selected, row);
    }
  }

  private void multiply(long firstRow, int rows, long firstCol, int cols) {
    MultiplyProblem problem =
        new MultiplyProblem(
            new Extents(rows, spec.k(), cols),
            spec.type(),
            spec.result().precision(),
            new Stored(spec.transposeA(), a.lead(rows)),
            new Stored(spec.transposeB(), b.lead(cols)),
            cols,
            Factors.ADD,
            Batch.ONE);
    means.multiplier.begin(new PanelMultiplier.Tile(problem, false, 1, true));
    Panels panels =
        means.multiplier.panels(wanted(a.bytes(rows)), Optional.of(wanted(b.bytes(cols))));
    put(a, firstRow, rows, panels.a());
    put(b, firstCol, cols, panels.b());
    means.multiplier.multiply(List.of(new PanelProduct(problem, 0, 0, 0)));
    means.listener.panel(2.0 * rows * spec.k() * cols);
  }

  private static Wanted wanted(long bytes) {
    return new Wanted(bytes, Optional.empty()); // no other task has this panel
  }

  private void put(VectorSide side, long first, int count, Optional<Panel> panel) {
    panel
        .orElseThrow()
        .put(side.rows(first, count), 0, side.lead(count) * spec.type().bytes(), false);
  }
}
