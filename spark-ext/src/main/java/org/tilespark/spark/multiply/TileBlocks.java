package org.tilespark.spark.multiply;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Optional;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.tilespark.arrow.panels.PanelMultiplier;
import org.tilespark.arrow.panels.PanelMultiplier.FinishedTile;
import org.tilespark.arrow.panels.PanelMultiplier.Rectangle;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.memory.MemoryRows;
import org.tilespark.kernels.pointwise.ElementwiseProgram;
import org.tilespark.kernels.transpose.TransposeProblem;
import org.tilespark.kernels.transpose.Transposer;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;
import org.tilespark.layout.Strides;
import org.tilespark.spark.multiply.MultiplyBlocks.Column;
import org.tilespark.spark.multiply.cost.MultiplyShape.Axis;
import org.tilespark.spark.rows.ArrayRowWriter;
import org.tilespark.spark.rows.PendingRowMemory;
import org.tilespark.spark.rows.PendingRows.PendingRow;

/**
 * Cuts tiles of C into blocks, one per row, at the places of C's own blocks. A row is valid until
 * the next one is requested.
 */
final class TileBlocks implements Iterator<InternalRow> {
  /** A piece of C: {@code rows} x {@code cols} elements that begin at {@code row}, {@code col}. */
  record Tile(long row, long rows, long col, long cols) {
    Tile transposed() {
      return new Tile(col, cols, row, rows);
    }
  }

  /**
   * The tiles of some matrices at one place.
   *
   * @param groups grouping columns of the matrices, one or more; borrowed until the last block was
   *     given
   * @param from start of the summed range of K; an output column if blocks are partial
   * @param extent extent of the summed range of K
   */
  record Tiles(Tile tile, List<UnsafeRow> groups, long from, long extent) {}

  /**
   * Least bytes of a block that a device writes directly; smaller blocks, and those of short rows,
   * are copied by the CPU, which is faster.
   */
  private static final long LEAST_FETCHED_BYTES = 32 << 10;

  private static final long LEAST_FETCHED_ROW_BYTES = 1 << 10;

  private final MultiplySpec spec;
  private final Cuboids cuboids;
  private final boolean partial;
  private final PanelTask.Listener listener;
  private final Transposer transposer;
  private final UnsafeProjection heads;
  private final ArrayRowWriter writer;
  private final PendingRowMemory memory;
  private final ArrayRowWriter pendingWriter; // writes rows in that memory
  private final Deque<PendingRow> fetched = new ArrayDeque<>(); // rows that are not handed out yet
  private PendingRow current; // the fetched row handed out last; null if there is none
  private final int bytes; // of an element

  private HostMemory all; // all tiles, (matrices, rows, cols); null if blocks are fetched
  private FinishedTile finished; // the tiles from which blocks are fetched
  private Tiles tiles;
  private int number; // number of the current tile among tiles
  private boolean isDone; // true after the last tile
  private Tile tile;
  private boolean turned; // true if the current tile is the transpose of its values
  private boolean mirrored; // true if each tile's transpose follows it
  private boolean mirrorLater; // true if the current tile's transpose is still to come
  private UnsafeRow head;
  private long nextRow;
  private long nextCol;

  /**
   * The blocks of one task.
   *
   * @param cuboids cuboids of the product; their ranks are the places of tiles
   * @param memory memory of blocks that a device writes; borrowed
   */
  TileBlocks(
      PanelTask.Job job,
      Cuboids cuboids,
      Transposer transposer,
      PendingRowMemory memory,
      PanelTask.Listener listener) {
    this.spec = job.spec();
    this.cuboids = cuboids;
    this.partial = job.partial();
    this.listener = listener;
    this.transposer = transposer;
    this.bytes = spec.type().bytes();
    this.heads = job.heads(0);
    this.writer = job.writer();
    this.memory = memory;
    this.pendingWriter = job.writer(memory);
    this.isDone = true;
  }

  /**
   * Starts with the tiles that a multiplier has computed, if it writes large blocks directly;
   * earlier tiles must be done.
   *
   * @param epilogue as for {@link PanelMultiplier#finish}
   * @return false if the caller must finish the tiles, and start with their values in memory
   */
  boolean begin(PanelMultiplier multiplier, List<ElementwiseProgram> epilogue, Tiles newTiles) {
    Tile all = newTiles.tile();
    long rowBytes = Math.min(spec.blockCols(), all.cols()) * bytes;
    long blockBytes = Math.min(spec.blockRows(), all.rows()) * rowBytes;
    if (rowBytes < LEAST_FETCHED_ROW_BYTES || blockBytes < LEAST_FETCHED_BYTES) {
      return false;
    }
    Optional<FinishedTile> inParts = multiplier.finishInParts(epilogue);
    inParts.ifPresent(newFinished -> begin(newFinished, newTiles));
    return inParts.isPresent();
  }

  /** Starts with tiles whose blocks are fetched; earlier tiles must be done. */
  void begin(FinishedTile newFinished, Tiles newTiles) {
    finished = newFinished;
    begin((HostMemory) null, newTiles, false);
  }

  /**
   * Starts with tiles in memory; earlier tiles must be done.
   *
   * @param newValues elements of all tiles, one tile after the other, each row-major; borrowed
   *     until their last block was given
   * @param mirror true if each tile's transpose follows it
   */
  void begin(HostMemory newValues, Tiles newTiles, boolean mirror) {
    if (newTiles.tile().rows() == 0 || newTiles.tile().cols() == 0) {
      return;
    }
    all = newValues;
    tiles = newTiles;
    mirrored = mirror;
    isDone = false;
    beginMatrix(0);
  }

  private void beginMatrix(int newNumber) {
    number = newNumber;
    tile = tiles.tile();
    head = heads.apply(tiles.groups().get(number));
    turned = false;
    mirrorLater = mirrored;
    nextRow = tile.row();
    nextCol = tile.col();
  }

  @Override
  public boolean hasNext() {
    return !isDone || !fetched.isEmpty();
  }

  @Override
  public InternalRow next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    if (current != null) {
      current.close();
      current = null;
    }
    listener.block();
    if (fetched.isEmpty() && all != null) {
      nextBlock(writer, this::copy);
      return writer.row();
    }
    if (fetched.isEmpty()) {
      fetch();
    }
    current = fetched.remove();
    return current.row();
  }

  /** Starts the rows of the next blocks, as many as may be fetched at a time, and fetches them. */
  private void fetch() {
    List<Rectangle> rectangles = new ArrayList<>();
    long fetchedBytes = 0;
    while (!isDone && (fetchedBytes == 0 || fetchedBytes + nextBytes() <= finished.mostBytes())) {
      HostMemory to =
          nextBlock(
              pendingWriter,
              (row, height, col, width, values) ->
                  rectangles.add(new Rectangle(start(row, col), width * bytes, height, values)));
      fetchedBytes += to.bytes();
      fetched.add(memory.begun(pendingWriter.row(), List.of(to)));
    }
    finished.fetch(rectangles, isDone);
  }

  /** Moves a block of the tile to {@code values}. */
  private interface Values {
    void to(long row, long height, long col, long width, HostMemory values);
  }

  /** Count of rows of the next block. */
  private long nextRows(long row) {
    long cellEnd = row / spec.blockRows() * spec.blockRows() + spec.blockRows();
    return Math.min(
        tile.row() + tile.rows() - nextRow, Math.min(cellEnd, cuboids.runEnd(Axis.M, row)) - row);
  }

  /** Count of columns of the next block. */
  private long nextCols(long col) {
    long cellEnd = col / spec.blockCols() * spec.blockCols() + spec.blockCols();
    return Math.min(
        tile.col() + tile.cols() - nextCol, Math.min(cellEnd, cuboids.runEnd(Axis.N, col)) - col);
  }

  private long nextBytes() {
    return nextRows(cuboids.element(Axis.M, nextRow))
        * nextCols(cuboids.element(Axis.N, nextCol))
        * bytes;
  }

  /** Writes the next block and moves on; returns the block's values. */
  private HostMemory nextBlock(ArrayRowWriter to, Values move) {
    long row = cuboids.element(Axis.M, nextRow);
    long col = cuboids.element(Axis.N, nextCol);
    long rows = nextRows(row);
    long cols = nextCols(col);
    HostMemory values = to.start(head, rows * cols);
    move.to(nextRow, rows, nextCol, cols, values);
    UnsafeRow out = to.row();
    out.setLong(Column.ROW.ordinal(), row);
    out.setLong(Column.COL.ordinal(), col);
    out.setInt(Column.ROWS.ordinal(), Math.toIntExact(rows));
    out.setInt(Column.COLS.ordinal(), Math.toIntExact(cols));
    if (partial) {
      out.setLong(PieceColumns.CELL_ROW, row / spec.blockRows() * spec.blockRows());
      out.setLong(PieceColumns.CELL_COL, col / spec.blockCols() * spec.blockCols());
      out.setLong(PieceColumns.PART, tiles.from());
      out.setLong(PieceColumns.PART_EXTENT, tiles.extent());
    }
    nextCol += cols;
    if (nextCol == tile.col() + tile.cols()) {
      nextCol = tile.col();
      nextRow += rows;
    }
    if (nextRow == tile.row() + tile.rows()) {
      endOfTile();
    }
    return values;
  }

  /** First byte of an element of the current tile in the memory of all tiles. */
  private long start(long row, long col) {
    long before = number * tile.rows() * tile.cols();
    return (before + (row - tile.row()) * tile.cols() + (col - tile.col())) * bytes;
  }

  private void copy(long row, long height, long col, long width, HostMemory to) {
    if (turned) {
      // The memory has the transpose of the current tile: its rows are the tile's columns.
      long before = number * tile.rows() * tile.cols();
      long start = (before + (col - tile.col()) * tile.rows() + (row - tile.row())) * bytes;
      TransposeProblem problem =
          new TransposeProblem(
              Shape.of(width, height),
              Permutation.of(1, 0),
              bytes,
              Strides.of(tile.rows(), 1),
              Strides.of(width, 1));
      transposer.transpose(problem, all.slice(start, problem.inBytes()), to);
    } else {
      new MemoryRows(all, start(row, col), tile.cols() * bytes, width * bytes, height)
          .copyTo(to, 0, width * bytes);
    }
  }

  private void endOfTile() {
    if (!mirrorLater) {
      if (number + 1 < tiles.groups().size()) {
        beginMatrix(number + 1);
      } else {
        isDone = true;
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
