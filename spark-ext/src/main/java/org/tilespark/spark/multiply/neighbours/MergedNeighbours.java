package org.tilespark.spark.multiply.neighbours;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.DataType;
import org.tilespark.spark.catalyst.RowProjections;
import org.tilespark.spark.multiply.scores.BestScores;
import org.tilespark.spark.multiply.scores.Neighbours;
import org.tilespark.spark.multiply.scores.Reduction;

/**
 * Merges candidates that come sorted by query and grouping columns. Holds those of one query. A row
 * is valid until the next one is requested.
 */
final class MergedNeighbours implements Iterator<InternalRow> {
  private final Reduction.Nearest nearest;
  private final Iterator<InternalRow> candidates;
  private final UnsafeProjection heads; // output rows with grouping columns alone
  private final BestScores best;
  private final Neighbours merged = new Neighbours();
  private InternalRow row; // the next row; null at the end
  private UnsafeRow matrix; // head of the last query's rows; null before the first one
  private NeighbourRows output; // writes the rows of that matrix
  private long query;
  private int next; // index of the next merged candidate

  /**
   * The merge of one partition.
   *
   * @param types types of the output, of which the last {@code groups} are the grouping columns'
   */
  MergedNeighbours(
      Reduction.Nearest nearest,
      List<DataType> types,
      int groups,
      Iterator<InternalRow> candidates) {
    this.nearest = nearest;
    this.candidates = candidates;
    List<Expression> columns = new ArrayList<>();
    int first = types.size() - groups;
    for (int i = 0; i < types.size(); i++) {
      DataType type = types.get(i);
      columns.add(
          i < first
              ? Literal$.MODULE$.create(null, type)
              : new BoundReference(NeighbourRows.CANDIDATE_COLUMNS + i - first, type, true));
    }
    this.heads = RowProjections.of(columns);
    this.best = new BestScores(1, nearest.k());
    this.row = candidates.hasNext() ? candidates.next() : null;
  }

  @Override
  public boolean hasNext() {
    if (next == merged.count() && row != null) {
      merge();
    }
    return next < merged.count();
  }

  @Override
  public InternalRow next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    next = output.write(query, merged, next);
    return output.row();
  }

  /** Merges the candidates of the next query, which has at least one. */
  private void merge() {
    query = row.getLong(NeighbourRows.QUERY);
    UnsafeRow head = heads.apply(row);
    if (matrix == null || !head.equals(matrix)) {
      matrix = head.copy();
      output = NeighbourRows.of(nearest, true, head.copy());
    }
    do {
      ArrayData found = row.getArray(NeighbourRows.CANDIDATES);
      for (int i = 0; i < found.numElements(); i += 2) {
        best.offer(0, Double.longBitsToDouble(found.getLong(i + 1)), found.getLong(i));
      }
      row = candidates.hasNext() ? candidates.next() : null;
    } while (row != null
        && row.getLong(NeighbourRows.QUERY) == query
        && heads.apply(row).equals(matrix));
    best.take(0, merged);
    next = 0;
  }
}
