package org.tilespark.spark.multiply;

import java.util.Iterator;
import java.util.NoSuchElementException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.tilespark.kernels.select.SelectedColumns;
import org.tilespark.spark.multiply.TileBlocks.Tile;
import org.tilespark.spark.multiply.cost.MultiplyShape.Axis;
import org.tilespark.spark.multiply.neighbours.NeighbourRows;
import org.tilespark.spark.multiply.scores.Neighbours;
import org.tilespark.spark.multiply.scores.Reduction;
import org.tilespark.spark.multiply.scores.TileSearch;
import org.tilespark.spark.multiply.scores.TileSides;
import org.tilespark.spark.multiply.scores.VectorSquares;

/**
 * What a reduction keeps of the products of two sets of vectors: made tile by tile, some queries
 * with all vectors of the other side, then the next queries. A row is valid until the next one is
 * asked for.
 */
final class ReducedRows implements Iterator<InternalRow> {
  private final Cuboids cuboids;
  private final Tile whole;
  private final TileProducts products;
  private final TileSides sides;
  private final TileSearch search;
  private final boolean isOfAll; // a row is done when it has met all vectors of the other side
  private final NeighbourRows output;

  private SelectedColumns selected; // in the last tile
  private long firstRow;
  private int rows; // of the tile
  private long firstCol;
  private int cols;
  private int row; // the next one to take
  private Neighbours found = Neighbours.NONE; // of the row taken last
  private int next; // of those, the next one to hand out

  /**
   * The reduction of a part of the product; borrows all that it is given.
   *
   * @param head a row of the output that has the matrix's grouping columns; taken
   * @param sides of tiles
   */
  ReducedRows(
      MultiplySpec spec,
      Cuboids cuboids,
      Tile whole,
      UnsafeRow head,
      TileSides sides,
      TileProducts products) {
    this.cuboids = cuboids;
    this.whole = whole;
    this.products = products;
    Reduction reduction = spec.reduction().get();
    this.sides = sides;
    this.search =
        TileSearch.of(
            reduction,
            sides,
            new VectorSquares(products.a().vectors()),
            new VectorSquares(products.b().vectors()),
            index -> cuboids.element(Axis.N, whole.col() + index));
    this.isOfAll = reduction instanceof Reduction.Nearest;
    this.output = NeighbourRows.of(reduction, !spec.isMerged(cuboids.q()), head);
    this.firstCol = whole.cols(); // as behind the last tile of some queries
  }

  @Override
  public boolean hasNext() {
    while (next == found.count()) {
      if (row == rows && !nextTile()) {
        return false;
      }
      if (!isOfAll) {
        search.reduce(selected, row);
      }
      found = search.take(row++);
      next = 0;
    }
    return true;
  }

  @Override
  public InternalRow next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    long query = cuboids.element(Axis.M, whole.row() + firstRow + row - 1);
    next = output.write(query, found, next);
    return output.row();
  }

  /** Computes until rows can be taken; false at the end. */
  private boolean nextTile() {
    if (isOfAll || firstCol + cols == whole.cols()) {
      if (firstRow + rows == whole.rows()) {
        return false;
      }
      firstRow += rows;
      rows = (int) Math.min(sides.rows(), whole.rows() - firstRow);
      search.rows(firstRow, rows);
      firstCol = 0;
      cols = 0;
    }
    do {
      firstCol += cols;
      cols = (int) Math.min(sides.cols(), whole.cols() - firstCol);
      products.begin(firstRow, rows, firstCol, cols);
      selected = products.select(search.columns(firstCol, cols));
      for (int i = 0; isOfAll && i < rows; i++) {
        search.reduce(selected, i);
      }
    } while (isOfAll && firstCol + cols < whole.cols());
    row = 0;
    return true;
  }
}
