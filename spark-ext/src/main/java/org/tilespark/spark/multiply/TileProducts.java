package org.tilespark.spark.multiply;

import java.util.List;
import java.util.Optional;
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
import org.tilespark.kernels.select.ColumnSelection;
import org.tilespark.kernels.select.SelectedColumns;

/**
 * Small tiles of the product of the vectors that a task holds; everything is borrowed.
 *
 * @param a the vectors of A
 * @param b the vectors of B
 */
record TileProducts(
    MultiplySpec spec,
    ReduceTask.Side a,
    ReduceTask.Side b,
    PanelMultiplier multiplier,
    PanelTask.Listener listener) {
  /**
   * Begins the tile of the given rows and columns; it may not be done when this returns.
   *
   * @param firstRow index among the vectors of A; likewise {@code firstCol} among those of B
   */
  void begin(long firstRow, int rows, long firstCol, int cols) {
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
    multiplier.begin(new PanelMultiplier.Tile(problem, false, 1, true));
    Panels panels = multiplier.panels(wanted(a.bytes(rows)), Optional.of(wanted(b.bytes(cols))));
    put(a, firstRow, rows, panels.a());
    put(b, firstCol, cols, panels.b());
    multiplier.multiply(List.of(new PanelProduct(problem, 0, 0, 0)));
    listener.panel(2.0 * rows * spec.k() * cols);
  }

  /** What a selection finds in the tile that was begun; valid until the next one is. */
  SelectedColumns select(ColumnSelection selection) {
    return multiplier.select(selection);
  }

  private static Wanted wanted(long bytes) {
    return new Wanted(bytes, Optional.empty()); // no other task has this panel
  }

  private void put(ReduceTask.Side side, long first, int count, Optional<Panel> panel) {
    panel
        .orElseThrow()
        .put(side.rows(first, count), 0, side.lead(count) * spec.type().bytes(), false);
  }
}
