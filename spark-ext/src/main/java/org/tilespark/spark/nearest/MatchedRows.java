package org.tilespark.spark.nearest;

import java.io.Serializable;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.types.DataType;
import org.tilespark.spark.catalyst.ScalaInterop;

/**
 * The joined rows of matches: one for each winner, with the columns of both sides. A row is valid
 * until the next one.
 */
final class MatchedRows implements Iterator<InternalRow> {
  private final Form form;
  private final SQLMetric count;
  private final Iterator<Match> matches;
  private final UnsafeProjection projection;
  private final JoinedRow joined = new JoinedRow();
  private final InternalRow noRow;
  private Iterator<? extends InternalRow> winners = Collections.emptyIterator();

  /**
   * The form of the rows.
   *
   * @param types types of all columns
   * @param left number of columns of the left side
   * @param outer true if matches without winners give a row, with nulls for the right side
   */
  record Form(List<DataType> types, int left, boolean outer) implements Serializable {
    /** Count of columns of the right side. */
    int right() {
      return types.size() - left;
    }
  }

  /**
   * The rows of some matches.
   *
   * @param count metric to which the count of rows is added
   * @param matches matches that have the rows of the left side
   */
  MatchedRows(Form form, SQLMetric count, Iterator<Match> matches) {
    this.form = form;
    this.count = count;
    this.matches = matches;
    this.projection =
        UnsafeProjection.create(
            ScalaInterop.seq(
                IntStream.range(0, form.types().size())
                    .mapToObj(i -> new BoundReference(i, form.types().get(i), true))
                    .toList()));
    this.noRow = new GenericInternalRow(form.right());
  }

  @Override
  public boolean hasNext() {
    while (!winners.hasNext() && matches.hasNext()) {
      Match match = matches.next();
      joined.withLeft(match.left());
      winners =
          match.winners().count() == 0 && form.outer()
              ? Collections.singleton(noRow).iterator()
              : Arrays.asList(match.winners().rows()).iterator();
    }
    return winners.hasNext();
  }

  @Override
  public InternalRow next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    count.add(1);
    return projection.apply(joined.withRight(winners.next()));
  }
}
