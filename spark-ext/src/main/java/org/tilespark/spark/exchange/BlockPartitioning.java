package org.tilespark.spark.exchange;

import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.tilespark.spark.catalyst.Attributes;

/**
 * The partitioning of a plan's blocks by a hash of some of its columns. {@link BoundPartitioning}
 * is the same by positions of columns.
 *
 * @param hash the partitioning as Spark's class
 */
public record BlockPartitioning(HashPartitioning hash) {
  /** The partitioning by a hash of columns, as a shuffle does it. */
  public static BlockPartitioning by(Collection<? extends Expression> keys, int partitions) {
    return new BlockPartitioning(Exchange.by(keys, partitions));
  }

  /** The partitioning of a plan's rows, see {@link Exchange#where}. */
  public static Optional<BlockPartitioning> of(SparkContext context, LogicalPlan plan) {
    return Exchange.where(context, plan).map(BlockPartitioning::new);
  }

  /** The partitioning as a physical node reports it. */
  public Partitioning partitioning() {
    return hash;
  }

  /** Count of partitions of this partitioning. */
  public int partitions() {
    return hash.numPartitions();
  }

  /** The columns that determine a row's partition. */
  public List<Attribute> columns() {
    return Attributes.usedBy(hash);
  }

  /**
   * This partitioning in terms of other columns; empty if one of the columns has no counterpart.
   */
  public Optional<BlockPartitioning> renamed(
      Function<Attribute, Optional<? extends Expression>> names) {
    return Attributes.renamed(hash, names)
        .map(HashPartitioning.class::cast)
        .map(BlockPartitioning::new);
  }

  /**
   * This partitioning in terms of positions in a list of columns.
   *
   * @throws IllegalArgumentException if the partitioning uses other columns too
   */
  public BoundPartitioning bound(List<Attribute> columns) {
    return BoundPartitioning.of(hash, columns);
  }
}
