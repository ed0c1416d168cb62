package org.tilespark.spark.vectors;

import java.io.Serializable;
import org.tilespark.spark.options.RowOptions;
import org.tilespark.spark.options.RowPolicy;

/**
 * Specifies how rows become blocks. The columns that are read are those of the vector, then the id,
 * if there is one, then the columns in which rows must differ.
 *
 * @param vector how a row holds its vector
 * @param length elements of each vector
 * @param blockRows rows of a full block
 * @param rows rows of the table at planning; -1 if they were not counted
 * @param hasIds true if ids are carried along
 * @param order the order of the rows
 * @param policies the treatment of invalid rows, and names for messages
 * @param operator operator's name, for messages
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
   * @param columns number of columns by which the rows were sorted
   * @param isKept false if places are not used: then the blocks of every partition begin at place
   *     0, and rows are not counted and need no order
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

  /** Count of the columns that order the rows. */
  int orderColumns() {
    return order.columns;
  }

  /** The position of the id among the columns that are read. */
  int idColumn() {
    return vector.columns();
  }

  /** The position of the first column of the order among the columns that are read. */
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
