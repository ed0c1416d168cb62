package org.tilespark.spark.multiply;

import java.util.Comparator;
import java.util.Iterator;
import java.util.NoSuchElementException;
import org.apache.spark.sql.catalyst.InternalRow;

/**
 * The pieces of two sorted partitions as one: by cuboid, place along K and side. A row is valid
 * until the next one is asked for.
 */
final class MergedPieces implements Iterator<InternalRow> {
  private final Comparator<InternalRow> order;
  private final Iterator<InternalRow> first;
  private final Iterator<InternalRow> second;
  private InternalRow nextFirst; // null at the end
  private InternalRow nextSecond;
  private boolean staleFirst = true; // it was handed out, and the next is to be fetched
  private boolean staleSecond = true;

  /**
   * Merges both.
   *
   * @param labels where pieces say whose they are
   */
  MergedPieces(
      Iterator<InternalRow> first, Iterator<InternalRow> second, PieceColumns.Labels labels) {
    this.order =
        Comparator.<InternalRow>comparingInt(labels::key)
            .thenComparingLong(piece -> piece.getLong(PieceColumns.INNER))
            .thenComparingInt(labels::side);
    this.first = first;
    this.second = second;
  }

  @Override
  public boolean hasNext() {
    if (staleFirst) {
      nextFirst = first.hasNext() ? first.next() : null;
      staleFirst = false;
    }
    if (staleSecond) {
      nextSecond = second.hasNext() ? second.next() : null;
      staleSecond = false;
    }
    return nextFirst != null || nextSecond != null;
  }

  @Override
  public InternalRow next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    boolean fromFirst =
        nextSecond == null || (nextFirst != null && order.compare(nextFirst, nextSecond) <= 0);
    staleFirst = fromFirst;
    staleSecond = !fromFirst;
    return fromFirst ? nextFirst : nextSecond;
  }
}
