package org.tilespark.spark.nearest;

import java.util.List;
import java.util.Optional;
import org.tilespark.arrow.panels.PanelMultiplier;
import org.tilespark.arrow.panels.PanelMultiplier.Panel;
import org.tilespark.arrow.panels.PanelMultiplier.PanelProduct;
import org.tilespark.arrow.panels.PanelMultiplier.Panels;
import org.tilespark.arrow.panels.PanelMultiplier.Wanted;
import org.tilespark.kernels.memory.MemoryRows;
import org.tilespark.kernels.multiply.Extents;
import org.tilespark.kernels.multiply.MultiplyProblem;
import org.tilespark.kernels.multiply.MultiplyProblem.Batch;
import org.tilespark.kernels.multiply.MultiplyProblem.Factors;
import org.tilespark.kernels.multiply.MultiplyProblem.Stored;
import org.tilespark.kernels.multiply.Precision;
import org.tilespark.kernels.select.ColumnSelection;
import org.tilespark.kernels.select.SelectedColumns;
import org.tilespark.spark.multiply.scores.Reduction;
import org.tilespark.spark.multiply.scores.TileSides;
import org.tilespark.spark.multiply.scores.Vectors;

/** Tiles of the products of vectors, which a multiplier computes one after another. */
final class ScoreTiles {
  private final PanelMultiplier multiplier;
  private final boolean large;

  /**
   * Tiles of a borrowed multiplier.
   *
   * @param large true if the multiplier computes large tiles faster
   */
  ScoreTiles(PanelMultiplier multiplier, boolean large) {
    this.multiplier = multiplier;
    this.large = large;
  }

  /** The most rows and columns of the tiles that a reduction of these vectors takes. */
  TileSides sides(Reduction reduction, Vectors vectors) {
    return TileSides.of(reduction, vectors.extent(), vectors.type().bytes(), large);
  }

  /**
   * Begins a tile of inner products of some vectors, which must not be empty.
   *
   * @param firstRow index of the first of {@code rows} vectors of {@code a}; {@code firstCol}
   *     likewise, of {@code cols} vectors of {@code b}
   */
  void multiply(Vectors a, long firstRow, int rows, Vectors b, long firstCol, int cols) {
    long length = a.extent();
    MultiplyProblem problem =
        new MultiplyProblem(
            new Extents(rows, length, cols),
            a.type(),
            Precision.FULL,
            new Stored(false, length),
            new Stored(true, length),
            cols,
            Factors.ADD,
            Batch.ONE);
    multiplier.begin(new PanelMultiplier.Tile(problem, false, 1, true));
    Panels panels = multiplier.panels(wanted(a, rows), Optional.of(wanted(b, cols)));
    put(a, firstRow, rows, panels.a());
    put(b, firstCol, cols, panels.b());
    multiplier.multiply(List.of(new PanelProduct(problem, 0, 0, 0)));
  }

  /** The columns that are selected in the tile; valid until the next one. */
  SelectedColumns select(ColumnSelection selection) {
    return multiplier.select(selection);
  }

  private static Wanted wanted(Vectors vectors, int count) {
    return new Wanted(count * vectors.pitch(), Optional.empty()); // no other task has this panel
  }

  private static void put(Vectors vectors, long first, int count, Optional<Panel> panel) {
    panel
        .orElseThrow()
        .put(
            new MemoryRows(
                vectors.memory(), first * vectors.pitch(), vectors.pitch(), vectors.pitch(), count),
            0,
            vectors.pitch(),
            false);
  }
}
