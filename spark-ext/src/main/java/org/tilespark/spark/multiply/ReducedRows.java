package org.tilespark.spark.multiply;

import java.util.Iterator;
import java.util.NoSuchElementException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.tilespark.kernels.select.SelectedColumns;
import org.tilespark.spark.multiply.TileBlocks.Tile;
import org.tilespark.spark.multiply.cost.MultiplyShape.Axis;
import org.tilespark.spark.multiply.neighbours.NeighbourRows;
import org.tilespark.spark.multiply.scores.Neighbours;
import org.tilespark.spark.multiply.scores.Reduction;
import org.tilespark.spark.multiply.scores.TileSearch;
import org.tilespark.spark.multiply.scores.TileSides;

/**
 * Reduces the products of two sets of vectors tile by tile: some queries with all vectors of the
 * other side, then the next queries. A row is valid until the next one is requested.
 */
final class ReducedRows implements Iterator<InternalRow> {
  private final Cuboids cuboids;
  private final Tile whole;
  private final TileProducts products;
  private final TileSides sides;
  private final TileSearch search;
  // True if both sides are the same matrix: each pair is then found once, and given twice
  private final boolean isHalf;
  private final boolean isOfAll; // results of a row come after all tiles, not after each
  private final NeighbourRows output;

  private SelectedColumns selected; // columns selected in the last tile
  private long firstRow;
  private int rows; // of the tile
  private long firstCol;
  private int cols;
  private int row; // the next row of the tile to take
  private Neighbours found = Neighbours.NONE; // neighbours of the row taken last
  private int next; // the next one of those neighbours to hand out
  private boolean isToMirror; // true if the row handed out last is given again, mirrored

  /**
   * The reduction of a part of the product; borrows its arguments.
   *
   * @param output writes the results
   */
  ReducedRows(
      MultiplySpec spec, Cuboids cuboids, Tile whole, NeighbourRows output, TileProducts products) {
    this.cuboids = cuboids;
    this.whole = whole;
    this.products = products;
    Reduction reduction = spec.reduction().get();
    this.sides = products.sides();
    this.search =
        TileSearch.of(
            reduction,
            sides,
            products.a().vectors(),
            products.b().vectors(),
            index -> cuboids.element(Axis.N, whole.col() + index));
    this.isHalf = spec.gram();
    this.isOfAll = reduction instanceof Reduction.Nearest;
    this.output = output;
    this.firstCol = whole.cols(); // as if the last tile of some queries was done
  }

  @Override
  public boolean hasNext() {
    while (!isToMirror && next == found.count()) {
      if (row == rows && !nextTile()) {
        return false;
      }
      if (!isOfAll) {
        search.reduce(selected, row);
      }
      found = search.take(row++);
      next = 0;
      while (isHalf && next < found.count() && found.place(next) < query()) {
        next++; // this pair is given mirrored, by the other vector's row
      }
    }
    return true;
  }

  /** The query of the row taken last. */
  private long query() {
    return cuboids.element(Axis.M, whole.row() + firstRow + row - 1);
  }

  @Override
  public InternalRow next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    if (isToMirror) {
      isToMirror = false;
      NeighbourRows.mirror(output.row());
      return output.row();
    }
    isToMirror = isHalf && found.place(next) > query();
    next = output.write(query(), found, next);
    return output.row();
  }

  /** Computes tiles until rows can be taken; false at the end. */
  private boolean nextTile() {
    if (isOfAll || firstCol + cols == whole.cols()) {
      if (firstRow + rows == whole.rows()) {
        return false;
      }
      firstRow += rows;
      rows = (int) Math.min(sides.rows(), whole.rows() - firstRow);
      search.rows(firstRow, rows);
      firstCol = isHalf && whole.row() == whole.col() ? firstRow : 0;
      cols = 0;
    }
    do {
      firstCol += cols;
      cols = (int) Math.min(sides.cols(), whole.cols() - firstCol);
      if (isOfAll) {
        products.reduce(search, firstRow, rows, firstCol, cols);
      } else {
        selected = products.select(search, firstRow, rows, firstCol, cols);
      }
    } while (isOfAll && firstCol + cols < whole.cols());
    row = 0;
    return true;
  }
}
