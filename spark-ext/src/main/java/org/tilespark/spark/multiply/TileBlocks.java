package org.tilespark.spark.multiply;

import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.memory.MemoryRows;
import org.tilespark.kernels.transpose.TransposeProblem;
import org.tilespark.kernels.transpose.Transposer;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;
import org.tilespark.layout.Strides;
import org.tilespark.spark.multiply.MultiplyBlocks.Column;
import org.tilespark.spark.multiply.cost.MultiplyShape.Axis;
import org.tilespark.spark.rows.ArrayRowWriter;

/**
 * Cuts tiles of C into rows of blocks, at the places of C's own blocks. A row is valid until the
 * next one is asked for.
 */
final class TileBlocks implements Iterator<InternalRow> {
  /** A piece of C: {@code rows} x {@code cols} elements from {@code row}, {@code col} on. */
  record Tile(long row, long rows, long col, long cols) {
    Tile transposed() {
      return new Tile(col, cols, row, rows);
    }
  }

  private final MultiplySpec spec;
  private final Cuboids cuboids;
  private final boolean partial;
  private final PanelTask.Listener listener;
  private final Transposer transposer;
  private final UnsafeProjection heads;
  private final ArrayRowWriter writer;
  private final int bytes; // of an element

  private HostMemory all; // of the tiles that are handed out, (matrices, rows, cols)
  private HostMemory values; // of the one that is handed out, (rows, cols); null if there is none
  private List<UnsafeRow> groups;
  private int number; // of the tile among them
  private Tile whole; // as it was computed
  private Tile tile;
  private boolean turned; // values are those of the transposed tile
  private boolean mirrored; // the transposed tile comes after each
  private boolean mirrorLater; // after this one
  private UnsafeRow head;
  private long inner;
  private long innerExtent;
  private long nextRow;
  private long nextCol;

  /**
   * The blocks of one task.
   *
   * @param cuboids whose ranks the places of tiles are
   */
  TileBlocks(
      PanelTask.Job job, Cuboids cuboids, Transposer transposer, PanelTask.Listener listener) {
    this.spec = job.spec();
    this.cuboids = cuboids;
    this.partial = job.partial();
    this.listener = listener;
    this.transposer = transposer;
    this.bytes = spec.type().bytes();
    this.heads = job.heads(0);
    this.writer = job.writer();
  }

  /**
   * Begins with the tiles of some matrices at one place; those before have been handed out.
   *
   * @param newValues rows x cols of each, row-major, one behind the other; borrowed until their
   *     last block has been handed out
   * @param newGroups their grouping columns, one or more; borrowed likewise
   * @param from first index along K of what was summed; written if blocks are partial
   * @param extent of what was summed along K
   * @param mirror true if the transposed tile is to follow
   */
  void begin(
      HostMemory newValues,
      Tile newTile,
      List<UnsafeRow> newGroups,
      long from,
      long extent,
      boolean mirror) {
    if (newTile.rows() == 0 || newTile.cols() == 0) {
      return;
    }
    all = newValues;
    whole = newTile;
    groups = newGroups;
    inner = from;
    innerExtent = extent;
    mirrored = mirror;
    beginMatrix(0);
  }

  private void beginMatrix(int newNumber) {
    number = newNumber;
    long tileBytes = whole.rows() * whole.cols() * bytes;
    values = all.slice(number * tileBytes, tileBytes);
    tile = whole;
    head = heads.apply(groups.get(number));
    turned = false;
    mirrorLater = mirrored;
    nextRow = tile.row();
    nextCol = tile.col();
  }

  @Override
  public boolean hasNext() {
    return values != null;
  }

  @Override
  public InternalRow next() {
    if (values == null) {
      throw new NoSuchElementException();
    }
    long row = cuboids.element(Axis.M, nextRow);
    long col = cuboids.element(Axis.N, nextCol);
    long cellRow = row / spec.blockRows() * spec.blockRows();
    long cellCol = col / spec.blockCols() * spec.blockCols();
    long rows =
        Math.min(
            tile.row() + tile.rows() - nextRow,
            Math.min(cellRow + spec.blockRows(), cuboids.runEnd(Axis.M, row)) - row);
    long cols =
        Math.min(
            tile.col() + tile.cols() - nextCol,
            Math.min(cellCol + spec.blockCols(), cuboids.runEnd(Axis.N, col)) - col);
    copy(nextRow, rows, nextCol, cols);
    UnsafeRow out = writer.row();
    out.setLong(Column.ROW.ordinal(), row);
    out.setLong(Column.COL.ordinal(), col);
    out.setInt(Column.ROWS.ordinal(), Math.toIntExact(rows));
    out.setInt(Column.COLS.ordinal(), Math.toIntExact(cols));
    if (partial) {
      out.setLong(PieceColumns.CELL_ROW, cellRow);
      out.setLong(PieceColumns.CELL_COL, cellCol);
      out.setLong(PieceColumns.PART, inner);
      out.setLong(PieceColumns.PART_EXTENT, innerExtent);
    }
    listener.block();
    nextCol += cols;
    if (nextCol == tile.col() + tile.cols()) {
      nextCol = tile.col();
      nextRow += rows;
    }
    if (nextRow == tile.row() + tile.rows()) {
      endOfTile();
    }
    return out;
  }

  private void copy(long row, long height, long col, long width) {
    HostMemory to = writer.start(head, height * width);
    if (turned) {
      // The tile's values have our columns as their rows.
      long start = ((col - tile.col()) * tile.rows() + (row - tile.row())) * bytes;
      TransposeProblem problem =
          new TransposeProblem(
              Shape.of(width, height),
              Permutation.of(1, 0),
              bytes,
              Strides.of(tile.rows(), 1),
              Strides.of(width, 1));
      transposer.transpose(problem, values.slice(start, problem.inBytes()), to);
    } else {
      new MemoryRows(
              values,
              ((row - tile.row()) * tile.cols() + (col - tile.col())) * bytes,
              tile.cols() * bytes,
              width * bytes,
              height)
          .copyTo(to, 0, width * bytes);
    }
  }

  private void endOfTile() {
    if (!mirrorLater) {
      values = null;
      if (number + 1 < groups.size()) {
        beginMatrix(number + 1);
      }
      return;
    }
    mirrorLater = false;
    turned = true;
    tile = tile.transposed();
    nextRow = tile.row();
    nextCol = tile.col();
  }
}
