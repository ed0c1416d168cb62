package org.tilespark.spark.rows;

import java.util.Comparator;
import java.util.Iterator;
import java.util.NoSuchElementException;
import org.apache.spark.sql.catalyst.InternalRow;

/** The rows of two sorted iterators as one. A row is valid until the next one is requested. */
public final class MergedRows implements Iterator<InternalRow> {
  private final Iterator<InternalRow> first;
  private final Iterator<InternalRow> second;
  private final Comparator<? super InternalRow> order;
  private InternalRow nextFirst; // null if not yet requested, and at the end
  private InternalRow nextSecond; // null if not yet requested, and at the end

  /**
   * Merges two iterators that are sorted by {@code order}; among equal rows the first iterator's
   * come first.
   */
  public MergedRows(
      Iterator<InternalRow> first,
      Iterator<InternalRow> second,
      Comparator<? super InternalRow> order) {
    this.first = first;
    this.second = second;
    this.order = order;
  }

  @Override
  public boolean hasNext() {
    if (nextFirst == null && first.hasNext()) {
      nextFirst = first.next();
    }
    if (nextSecond == null && second.hasNext()) {
      nextSecond = second.next();
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
    InternalRow next = fromFirst ? nextFirst : nextSecond;
    nextFirst = fromFirst ? null : nextFirst;
    nextSecond = fromFirst ? nextSecond : null;
    return next;
  }
}
