package org.tilespark.spark.exchange;

import java.util.List;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.catalyst.plans.physical.UnknownPartitioning;
import org.apache.spark.sql.execution.SparkPlan;
import org.tilespark.spark.catalyst.PhysicalBlockNode;
import scala.collection.immutable.Seq;

/**
 * Pieces that lie in the partitions of their cuboids, since their operand is partitioned so. Says
 * that pieces are partitioned by their cuboid where that holds: the keys of cuboids are chosen so
 * that each hashes to the partition where its blocks are, see {@link
 * org.tilespark.spark.multiply.Cuboids#inPlace Cuboids.inPlace}. Where it does not hold after all,
 * Spark shuffles the pieces.
 */
public final class CoPartitionedPiecesExec extends PhysicalBlockNode {
  private static final long serialVersionUID = 1;

  private final Attribute key;
  private final BoundPartitioning expected;
  private final SparkPlan child;

  /**
   * The node over {@code child}.
   *
   * @param key the cuboid's column among the pieces
   * @param expected how the operand is partitioned, by positions in the columns that are cut
   * @param child a {@link CutBlocksExec} over the operand
   */
  public CoPartitionedPiecesExec(Attribute key, BoundPartitioning expected, SparkPlan child) {
    this.key = key;
    this.expected = expected;
    this.child = child;
  }

  @Override
  public Seq<Attribute> output() {
    return child.output();
  }

  @Override
  public Partitioning outputPartitioning() {
    int partitions = expected.numPartitions();
    return child instanceof CutBlocksExec cut
            && cut.blocks().get(0).outputPartitioning() instanceof HashPartitioning found
            && found.numPartitions() == partitions
            && found.semanticEquals(expected.over(cut.inputs()))
        ? Exchange.by(List.of(key), partitions)
        : new UnknownPartitioning(child.outputPartitioning().numPartitions());
  }

  @Override
  public Seq<SortOrder> outputOrdering() {
    return child.outputOrdering();
  }

  @Override
  public RDD<InternalRow> doExecute() {
    return child.execute();
  }

  @Override
  public String simpleString(int maxFields) {
    return "CoPartitionedPieces by " + describe();
  }

  @Override
  public String verboseStringWithOperatorId() {
    return formattedNodeName() + "\nPartitioning: " + describe() + "\n";
  }

  private String describe() {
    return (child instanceof CutBlocksExec cut ? expected.over(cut.inputs()) : expected).toString();
  }

  @Override
  protected List<Object> fields() {
    return List.of(key, expected, child);
  }
}
