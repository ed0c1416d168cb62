package org.tilespark.spark.exchange;

import java.util.List;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.execution.SparkPlan;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ChildColumns;
import org.tilespark.spark.catalyst.PhysicalBlockNode;
import org.tilespark.spark.catalyst.ScalaInterop;
import scala.collection.immutable.Seq;

/** Runs {@link MarkCells}. */
public final class MarkCellsExec extends PhysicalBlockNode {
  private static final long serialVersionUID = 1;

  private final AssembleSpec spec;
  private final Seq<Attribute> inputs;
  private final Seq<Attribute> produced;
  private final SparkPlan child;

  /**
   * The node over {@code child}.
   *
   * @param inputs columns of the child: the array's extents, then the grouping columns
   * @param produced the output
   */
  public MarkCellsExec(
      AssembleSpec spec, Seq<Attribute> inputs, Seq<Attribute> produced, SparkPlan child) {
    this.spec = spec;
    this.inputs = inputs;
    this.produced = produced;
    this.child = child;
  }

  @Override
  public Seq<Attribute> output() {
    return produced;
  }

  @Override
  public RDD<InternalRow> doExecute() {
    List<Integer> ordinals = ChildColumns.ordinals(this, child, inputs);
    int rank = spec.kind().rank();
    return child
        .execute()
        .mapPartitions(
            new MarkTask(
                spec,
                List.copyOf(ordinals.subList(0, rank)),
                List.copyOf(ordinals.subList(rank, ordinals.size())),
                Attributes.schema(ScalaInterop.list(produced))),
            false,
            ScalaInterop.classTag(InternalRow.class));
  }

  @Override
  public String nodeName() {
    return "MarkCells";
  }

  @Override
  public String simpleString(int maxFields) {
    return "MarkCells " + spec.kind().label();
  }

  @Override
  public String verboseStringWithOperatorId() {
    return formattedNodeName()
        + "\nInput: "
        + ScalaInterop.list(child.output())
        + "\nOutput: "
        + ScalaInterop.list(output())
        + "\n";
  }

  @Override
  protected List<Object> fields() {
    return List.of(spec, inputs, produced, child);
  }
}
