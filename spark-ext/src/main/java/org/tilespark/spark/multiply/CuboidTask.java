package org.tilespark.spark.multiply;

import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.OptionalInt;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.tilespark.layout.Box;
import org.tilespark.spark.block.ArrayValues;
import org.tilespark.spark.block.StaleMetadata;
import org.tilespark.spark.rows.PieceInPlace;
import org.tilespark.spark.rows.RetainedRows;

/**
 * Computes the cuboids of one partition: reads pieces sorted by cuboid, group, place along K and
 * side, and computes one cuboid after the other. A row is valid until the next one is requested.
 */
abstract class CuboidTask implements Iterator<InternalRow> {
  protected final PanelTask.Job job;
  protected final MultiplySpec spec;
  protected final Cuboids cuboids;
  private final Iterator<InternalRow> pieces;
  private final UnsafeProjection groupOf;
  private final PieceColumns.Labels labels;
  private InternalRow piece; // the next piece; null at the end
  private final RetainedRows retained;
  private final OptionalInt own; // the partition's cuboid; empty if keys of pieces name it
  private boolean ownComputed;

  /**
   * The pieces of a partition, sorted as the class comment says, and the owner of retained pieces,
   * which is borrowed and outlives the multiplier.
   */
  record Pieces(Iterator<InternalRow> rows, RetainedRows retained) {}

  /**
   * The cuboids of one partition.
   *
   * @param partition number of the partition
   * @param pieces the partition's pieces; if cuboids are in place, of at most one cuboid
   */
  CuboidTask(PanelTask.Job job, Cuboids cuboids, int partition, Pieces pieces) {
    this.job = job;
    this.spec = job.spec();
    this.cuboids = cuboids;
    this.pieces = pieces.rows;
    this.retained = pieces.retained;
    this.groupOf = job.groups(PieceColumns.COUNT);
    this.labels = PieceColumns.Labels.of(spec, cuboids);
    // Without grouping columns each partition is one cuboid, which has a result even without
    // pieces. With grouping columns, only the pieces tell which matrices exist.
    this.own = spec.groups() == 0 ? cuboids.ofPartition(partition) : OptionalInt.empty();
    this.ownComputed = own.isEmpty();
    this.piece = this.pieces.hasNext() ? this.pieces.next() : null;
  }

  /** Computes a cuboid from the next pieces, and starts giving its results. */
  abstract void compute(int cuboid, UnsafeRow group);

  /** The rows of the computed cuboid that are still to be handed out. */
  abstract Iterator<InternalRow> results();

  @Override
  public final boolean hasNext() {
    while (!results().hasNext()) {
      if (!ownComputed) {
        ownComputed = true;
        compute(own.getAsInt(), PanelTask.NO_GROUP);
      } else if (piece != null) {
        requireInPlace();
        compute(cuboids.ofKey(labels.key(piece)), group());
      } else {
        return false;
      }
    }
    return true;
  }

  @Override
  public final InternalRow next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    return results().next();
  }

  /** The next piece; null at the end. */
  protected final InternalRow piece() {
    return piece;
  }

  /** A copy of the grouping columns of the next piece. */
  protected final UnsafeRow group() {
    return spec.groups() == 0 ? PanelTask.NO_GROUP : groupOf.apply(piece).copy();
  }

  /** True if the next piece belongs to the cuboid with a key. */
  protected final boolean isOf(int key) {
    return piece != null && labels.key(piece) == key;
  }

  /**
   * True if the next piece belongs to the cuboid with a key, and to the matrix with these grouping
   * columns.
   */
  protected final boolean isOf(int key, UnsafeRow group) {
    return isOf(key) && (spec.groups() == 0 || groupOf.apply(piece).equals(group));
  }

  /** Fills one panel of each side with the pieces of a cuboid that begin at a place along K. */
  protected final void fill(int key, UnsafeRow group, long inner, PanelSide a, PanelSide b) {
    while (isOf(key, group) && piece.getLong(PieceColumns.INNER) == inner) {
      Box values = boxOfValues();
      (labels.side(piece) == 1 ? b : a)
          .add(
              values.low(0),
              values.low(1),
              values.size(0),
              values.size(1),
              ArrayValues.memory(piece.getArray(PieceColumns.VALUES), spec.type()),
              retained.retains(piece));
      piece = pieces.hasNext() ? pieces.next() : null;
    }
  }

  /**
   * The box of the values in the next piece's row: the piece's own box, or the box of its whole
   * block if the row refers to the block's values.
   */
  private Box boxOfValues() {
    InternalRow own = piece instanceof JoinedRow labelled ? labelled.getLeft() : piece;
    return own instanceof PieceInPlace inPlace
        ? inPlace.block()
        : Box.at(
            new long[] {piece.getLong(PieceColumns.ROW), piece.getLong(PieceColumns.COL)},
            new long[] {piece.getInt(PieceColumns.ROWS), piece.getInt(PieceColumns.COLS)});
  }

  /** Fails if a piece of a cuboid is left when all of its panels are done. */
  protected final void requireNoneLeft(int key, UnsafeRow group) {
    if (isOf(key, group)) {
      throw new IllegalStateException(
          "A piece for K = "
              + piece.getLong(PieceColumns.INNER)
              + " came behind the panel that begins there; please report this with the plan");
    }
  }

  /** Fails if the next piece's block is in another partition than its place requires. */
  protected final void requireInPlace() {
    if (cuboids.isInPlace()
        && piece != null
        && own.stream().noneMatch(cuboid -> cuboids.key(cuboid) == labels.key(piece))) {
      throw new IllegalArgumentException(
          OperandDefects.blockAt(
                  spec,
                  labels.side(piece) == 1,
                  piece.getLong(PieceColumns.ROW),
                  piece.getLong(PieceColumns.COL))
              + " (or the block it was cut from) does not begin where blocks do"
              + OperandDefects.STALE_PLACES
              + "; "
              + StaleMetadata.HELP);
    }
  }
}
