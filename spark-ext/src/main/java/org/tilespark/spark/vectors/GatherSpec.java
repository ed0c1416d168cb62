package org.tilespark.spark.vectors;

import java.io.Serializable;
import org.tilespark.spark.options.RowOptions;
import org.tilespark.spark.options.RowPolicy;

/**
 * How rows become blocks. The columns that are read are those of the vector, then the id, if there
 * is one, then the columns in which no two rows may be equal.
 *
 * @param vector how a row holds its vector
 * @param length elements of each vector
 * @param blockRows rows of a full block
 * @param rows rows of the table when the query was made; -1 if they were not counted
 * @param hasIds true if ids ride along
 * @param order the order of the rows
 * @param policies the treatment of rows that cannot be taken as they are, and names for messages
 * @param operator the operator that asks, for messages
 */
public record GatherSpec(
    VectorColumn vector,
    int length,
    int blockRows,
    long rows,
    boolean hasIds,
    Order order,
    RowOptions policies,
    String operator)
    implements Serializable {
  /**
   * The order that gives rows their places.
   *
   * @param columns that order the rows, which were sorted by them
   * @param isKept false if the blocks of every partition begin at place 0, since nobody asks for
   *     their places: rows are not counted then, and need no order
   */
  record Order(int columns, boolean isKept) implements Serializable {}

  /** True if blocks have places. */
  boolean isPlaced() {
    return order.isKept;
  }

  /** A copy for blocks that need no places. */
  GatherSpec withoutPlaces() {
    return new GatherSpec(
        vector, length, blockRows, rows, hasIds, new Order(0, false), policies, operator);
  }

  /** Columns that order the rows. */
  int orderColumns() {
    return order.columns;
  }

  /** The place of the id in the columns that are read. */
  int idColumn() {
    return vector.columns();
  }

  /** The place of the first column of the order. */
  int firstOrderColumn() {
    return idColumn() + (hasIds ? 1 : 0);
  }

  /** True if rows may be left out. */
  boolean skips() {
    return policies.nulls() == RowPolicy.SKIP
        || policies.ragged() == RowPolicy.SKIP
        || policies.nan() == RowPolicy.SKIP;
  }

  /** The error about a table that has no rows. */
  IllegalArgumentException empty() {
    return new IllegalArgumentException(
        "%s: the table has no rows%s; a matrix has at least one"
            .formatted(operator, skips() ? " that are not left out" : ""));
  }

  /** The text in EXPLAIN. */
  @Override
  public String toString() {
    return "%s, length %s, %s rows a block%s%s%s"
        .formatted(
            vector,
            length,
            blockRows,
            hasIds ? ", with ids" : "",
            order.columns > 0 ? ", sorted" : "",
            order.isKept ? "" : ", without places");
  }
}
