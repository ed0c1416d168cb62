package org.tilespark.spark.stage;

import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.StructType;
import org.tilespark.layout.AxisImages;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.block.BoxList;
import org.tilespark.spark.block.StaleMetadata;
import org.tilespark.spark.exchange.AssembleSpec;
import org.tilespark.spark.exchange.RowKeys;
import org.tilespark.spark.options.Missing;

/**
 * Iterates over the sorted rows of one partition: over target blocks, and over the pieces of each.
 * The rows of a target block are consecutive; the first is its mark, which says where the block
 * ends, unless the extents are known without marks. Checks that the pieces tile the block. Used by
 * one thread; arrays that it returns are overwritten when it moves.
 */
public final class PieceGroups {
  private final AssembleSpec spec;
  private final BlockSchema in; // columns in rows of pieces
  private final Iterator<InternalRow> rows;
  private final RowKeys keys;
  private final int rank;
  private final long[] low; // first element of the target block
  private final long[] high;
  private final long[] size;
  private final long[] pieceLow;
  private final long[] pieceHigh;
  private final long[] pieceSize;
  private final BoxList boxes;
  private UnsafeRow key; // key of the target block
  private InternalRow row; // the current row; null before the first and after the last
  private boolean isFresh; // true if the current row was not given as a piece yet

  /**
   * @param input schema of the rows
   * @param keys ordinals of the columns that identify a target block: keys and further columns
   * @param in ordinals of the block columns in the rows
   */
  public PieceGroups(
      AssembleSpec spec,
      StructType input,
      List<Integer> keys,
      BlockSchema in,
      Iterator<InternalRow> rows) {
    this.spec = spec;
    this.in = in;
    this.rows = rows;
    this.rank = spec.kind().rank();
    this.low = new long[rank];
    this.high = new long[rank];
    this.size = new long[rank];
    this.pieceLow = new long[rank];
    this.pieceHigh = new long[rank];
    this.pieceSize = new long[rank];
    this.boxes = new BoxList(rank);
    this.keys = RowKeys.at(input, keys);
  }

  /**
   * Moves to the next target block; false if there is none. All pieces of the previous block must
   * have been read.
   *
   * @throws IllegalArgumentException if it is outside the array
   */
  public boolean next() {
    if (row == null) {
      advance();
    }
    if (row == null) {
      return false;
    }
    key = keys.of(row).copy();
    boxes.clear();
    readPiece();
    if (isMark()) {
      System.arraycopy(pieceLow, 0, low, 0, rank);
      System.arraycopy(pieceHigh, 0, high, 0, rank);
      System.arraycopy(pieceSize, 0, size, 0, rank);
    } else {
      for (int axis = 0; axis < rank; axis++) {
        low[axis] = row.getLong(axis);
        long extent = spec.unmarked().isEmpty() ? 0 : spec.unmarked().get().extent(axis);
        if (low[axis] >= extent) {
          throw outside();
        }
        size[axis] = Math.min(spec.grid().axis(axis).largest(), extent - low[axis]);
        high[axis] = low[axis] + size[axis];
      }
    }
    return true;
  }

  /** The target block's first element. */
  public long[] low() {
    return low;
  }

  /** The target block's elements along each axis. */
  public long[] size() {
    return size;
  }

  /** The target block's first row, or the current piece. */
  public InternalRow row() {
    return row;
  }

  /**
   * Moves to the next piece of the target block; false if there is none.
   *
   * @throws IllegalArgumentException if it is outside the array, or the pieces do not tile the
   *     block
   */
  public boolean nextPiece() {
    while (true) {
      if (!isFresh) {
        advance();
      }
      if (row == null || keys.compare(key, keys.of(row)) != 0) {
        checkPieces();
        return false;
      }
      isFresh = false;
      if (!isMark()) {
        readPiece();
        for (int axis = 0; axis < rank; axis++) {
          if (pieceHigh[axis] > high[axis]) {
            throw outside();
          }
        }
        boxes.add(pieceLow, pieceSize);
        return true;
      }
    }
  }

  /** The current piece's first element. */
  public long[] pieceLow() {
    return pieceLow;
  }

  /** The current piece's elements along each axis. */
  public long[] pieceSize() {
    return pieceSize;
  }

  /** Checks that the pieces cover all elements of the block that have a source element. */
  private void checkPieces() {
    boolean mayHaveHoles = spec.missing() == Missing.ZERO;
    if (spec.images().isEmpty()) {
      boxes.check(low, size, spec.kind(), mayHaveHoles, spec.operator());
      return;
    }
    long[] from = new long[rank];
    long[] count = new long[rank];
    for (int axis = 0; axis < rank; axis++) {
      AxisImages images = spec.images().get().axes().get(axis);
      from[axis] = images.firstFrom(low[axis]);
      count[axis] = Math.max(0, images.endUpTo(high[axis]) - from[axis]);
    }
    boxes.check(from, count, spec.kind(), mayHaveHoles, spec.operator());
  }

  private void advance() {
    row = rows.hasNext() ? rows.next() : null;
    isFresh = row != null;
  }

  private boolean isMark() {
    return row.isNullAt(in.values());
  }

  private void readPiece() {
    for (int axis = 0; axis < rank; axis++) {
      pieceLow[axis] = row.getLong(in.offsets().get(axis));
      pieceSize[axis] = row.getInt(in.sizes().get(axis));
      pieceHigh[axis] = pieceLow[axis] + pieceSize[axis];
    }
  }

  private IllegalArgumentException outside() {
    return BoxList.bad(
        spec.kind(), pieceLow, "it lies outside the array; " + StaleMetadata.HELP, spec.operator());
  }
}
