package org.tilespark.spark.pointwise;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.plans.physical.Distribution;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.execution.metric.SQLMetrics;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ChildColumns;
import org.tilespark.spark.catalyst.PhysicalBlockNode;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.exchange.Exchange;
import scala.collection.immutable.Seq;

/**
 * Runs {@link CombineBlocks}: asks Spark to bring equal places of both arrays into one partition,
 * sorted, which they are where both come from transforms, and combines block by block.
 */
public final class CombineBlocksExec extends PhysicalBlockNode {
  static final String BLOCKS = "numOutputRows";

  private final CombineSpec spec;
  private final Seq<Attribute> leftInputs;
  private final Seq<Attribute> rightInputs;
  private final Seq<Attribute> produced;
  private final SparkPlan left;
  private final SparkPlan right;

  /**
   * The node over two children.
   *
   * @param leftInputs columns of the first: its block, then further ones
   * @param rightInputs columns of the second, further ones in the order of the first one's
   * @param produced the output: a block, then further columns in that order
   */
  public CombineBlocksExec(
      CombineSpec spec,
      Seq<Attribute> leftInputs,
      Seq<Attribute> rightInputs,
      Seq<Attribute> produced,
      SparkPlan left,
      SparkPlan right) {
    this.spec = spec;
    this.leftInputs = leftInputs;
    this.rightInputs = rightInputs;
    this.produced = produced;
    this.left = left;
    this.right = right;
  }

  @Override
  public Seq<Attribute> output() {
    return produced;
  }

  /**
   * By further columns and places: in the order in which a child is partitioned by them, since
   * Spark keeps it only then.
   */
  @Override
  public Seq<Distribution> requiredChildDistribution() {
    List<Attribute> leftKeys = keys(leftInputs, spec.left());
    List<Attribute> rightKeys = keys(rightInputs, spec.right());
    List<Integer> order =
        Exchange.order(left.outputPartitioning(), leftKeys)
            .or(() -> Exchange.order(right.outputPartitioning(), rightKeys))
            .orElseGet(() -> IntStream.range(0, leftKeys.size()).boxed().toList());
    return ScalaInterop.<Distribution>seq(
        Arrays.asList(
            Exchange.together(order.stream().map(leftKeys::get).toList()),
            Exchange.together(order.stream().map(rightKeys::get).toList())));
  }

  @Override
  public Partitioning outputPartitioning() {
    return Exchange.renamed(left.outputPartitioning(), this::renamed);
  }

  @Override
  public Seq<SortOrder> outputOrdering() {
    return Attributes.ascending(keys(produced, spec.out()));
  }

  /** Further columns, then the place: rows of both sides that agree in them belong together. */
  private static List<Attribute> keys(Seq<Attribute> columns, BlockSchema blocks) {
    return IntStream.concat(
            IntStream.range(blocks.blockColumns().size(), columns.size()),
            IntStream.range(0, blocks.kind().rank()))
        .mapToObj(columns::apply)
        .toList();
  }

  /** The output column with the content of a key of the first operand. */
  private Optional<Attribute> renamed(Attribute used) {
    int key = Attributes.indexOf(keys(leftInputs, spec.left()), used);
    return key < 0 ? Optional.empty() : Optional.of(keys(produced, spec.out()).get(key));
  }

  @Override
  protected Map<String, SQLMetric> newMetrics() {
    Map<String, SQLMetric> map = new LinkedHashMap<>();
    map.put(BLOCKS, SQLMetrics.createMetric(sparkContext(), "number of output rows"));
    return map;
  }

  @Override
  public RDD<InternalRow> doExecute() {
    return atExchange(combined());
  }

  @Override
  protected boolean isAtExchange() {
    return true;
  }

  private RDD<InternalRow> combined() {
    return Exchange.sorted(left, Attributes.ascending(keys(leftInputs, spec.left())))
        .zipPartitions(
            Exchange.sorted(right, Attributes.ascending(keys(rightInputs, spec.right()))),
            true,
            new CombineTask(
                spec,
                side(left, leftInputs, spec.left().blockColumns().size()),
                side(right, rightInputs, spec.right().blockColumns().size()),
                Attributes.schema(ScalaInterop.list(produced)),
                metrics().apply(BLOCKS)),
            ScalaInterop.classTag(InternalRow.class),
            ScalaInterop.classTag(InternalRow.class));
  }

  private CombineTask.Side side(SparkPlan child, Seq<Attribute> inputs, int blockColumns) {
    return new CombineTask.Side(
        Attributes.schema(ScalaInterop.list(inputs)),
        ChildColumns.ordinals(this, child, inputs),
        blockColumns);
  }

  @Override
  public String simpleString(int maxFields) {
    return "CombineBlocks " + spec;
  }

  @Override
  public String verboseStringWithOperatorId() {
    return "%s\nOperands: %s%s\nOutput: %s\n"
        .formatted(
            formattedNodeName(),
            spec,
            Exchange.explained(sparkContext()),
            ScalaInterop.list(output()));
  }

  @Override
  protected List<Object> fields() {
    return List.of(spec, leftInputs, rightInputs, produced, left, right);
  }
}
