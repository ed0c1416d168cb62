package org.tilespark.spark.exchange;

import java.io.Serializable;
import java.util.List;
import java.util.Optional;
import java.util.function.ToIntFunction;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ScalaInterop;

/**
 * A partitioning of rows in terms of positions in a list of columns. Nodes keep it in place of a
 * {@link HashPartitioning} over attributes that none of their children has: Catalyst does not
 * normalise the ids of these when it compares plans, so equal plans would differ.
 *
 * @param bound partitioning whose attributes are {@link BoundReference}s
 */
public record BoundPartitioning(HashPartitioning bound) implements Serializable {

  /**
   * A partitioning that uses no other columns than {@code columns}.
   *
   * @throws IllegalArgumentException if the partitioning uses other columns
   */
  public static BoundPartitioning of(HashPartitioning partitioning, List<Attribute> columns) {
    Expression bound =
        Attributes.renamed(partitioning, used -> Optional.of(reference(used, columns)))
            .orElseThrow();
    return new BoundPartitioning((HashPartitioning) bound);
  }

  private static BoundReference reference(Attribute used, List<Attribute> columns) {
    int position = Attributes.indexOf(columns, used);
    if (position < 0) {
      throw new IllegalArgumentException(
          "Partitioned by " + used + "; expected columns of " + columns);
    }
    return new BoundReference(position, used.dataType(), used.nullable());
  }

  /** The partitioning in terms of {@code columns}, of which it uses those at its positions. */
  public HashPartitioning over(List<Attribute> columns) {
    return (HashPartitioning)
        bound.transform(
            ScalaInterop.partialFunction(
                e ->
                    e instanceof BoundReference reference
                        ? Optional.of(columns.get(reference.ordinal()))
                        : Optional.empty()));
  }

  /**
   * True if {@code found} is this partitioning, for rows with {@code columns} at these positions.
   */
  public boolean isThat(Partitioning found, List<Attribute> columns) {
    return found instanceof HashPartitioning hash
        && hash.numPartitions() == numPartitions()
        && hash.semanticEquals(over(columns));
  }

  /** The function that gives the partition of a row with these columns. */
  public ToIntFunction<InternalRow> partitionOf() {
    return Exchange.partitionOf(bound);
  }

  /** Count of partitions. */
  public int numPartitions() {
    return bound.numPartitions();
  }

  @Override
  public String toString() {
    return bound.toString();
  }
}
