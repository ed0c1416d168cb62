package org.tilespark.spark.exchange;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
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
import org.tilespark.spark.catalyst.MadeAnewExec;
import org.tilespark.spark.catalyst.ScalaInterop;
import scala.collection.immutable.Seq;

/**
 * Runs {@link AssembleBlocks}: asks Spark to bring all pieces of a target block into one partition,
 * sorts them and assembles one block after the other.
 */
public final class AssembleBlocksExec extends MadeAnewExec<AssembleSpec> {
  private static final long serialVersionUID = 1;

  static final String BLOCKS = "numOutputRows";
  static final String PIECES = "numPieces";
  static final String PREDICTED = "predictedBytes";

  /**
   * The node over {@code child}.
   *
   * @param inputs columns of the child: one key per axis, then those of the pieces
   * @param produced the output; what becomes of {@code inputs} after the keys, position by position
   */
  public AssembleBlocksExec(
      AssembleSpec spec, Seq<Attribute> inputs, Seq<Attribute> produced, SparkPlan child) {
    super(spec, inputs, produced, child);
  }

  @Override
  public Seq<Distribution> requiredChildDistribution() {
    return ScalaInterop.<Distribution>seq(
        Exchange.together(child, clustering(), Exchange.partitions(sparkContext(), spec)));
  }

  /** Rows of a target block together, its mark first, its pieces in the order of their places. */
  private Seq<SortOrder> pieceOrder() {
    BlockSchema blocks = pieces();
    return Exchange.pieceOrder(
        clustering(),
        inputs.apply(blocks.values()),
        blocks.offsets().stream().map(inputs::apply).toList());
  }

  /** The child's, where it is by cells and grouping columns, in terms of the blocks' places. */
  @Override
  public Partitioning outputPartitioning() {
    return Exchange.renamed(child.outputPartitioning(), this::renamed);
  }

  @Override
  public Seq<SortOrder> outputOrdering() {
    return Attributes.renamedOrdering(Attributes.ascending(clustering()), this::renamed);
  }

  @Override
  protected boolean isAtExchange() {
    return true;
  }

  @Override
  protected Map<String, SQLMetric> newMetrics() {
    Map<String, SQLMetric> map = new LinkedHashMap<>();
    map.put(BLOCKS, SQLMetrics.createMetric(sparkContext(), "number of output rows"));
    map.put(PIECES, SQLMetrics.createMetric(sparkContext(), "number of pieces"));
    map.put(PREDICTED, SQLMetrics.createSizeMetric(sparkContext(), "predicted data size", -1));
    return map;
  }

  @Override
  public RDD<InternalRow> doExecute() {
    spec.predicted().tell(metrics().apply(PREDICTED), sparkContext());
    List<Attribute> columns = ScalaInterop.list(inputs);
    ChildColumns.requireFirst(this, child, inputs, "AssembleBlocks expects the columns");
    List<Integer> keys =
        clustering().stream().map(column -> Attributes.indexOf(columns, column)).toList();
    AssembleTask task =
        new AssembleTask(
            spec,
            Attributes.schema(columns),
            keys,
            Attributes.schema(ScalaInterop.list(produced)),
            metrics().apply(BLOCKS),
            metrics().apply(PIECES));
    return atExchange(task.over(Exchange.sorted(child, pieceOrder()), InternalRow.class, true));
  }

  /** Grouping columns, then keys: rows that agree in them belong to one target block. */
  private List<Attribute> clustering() {
    int rank = spec.kind().rank();
    List<Attribute> keysFirst = pieces().further(ScalaInterop.list(inputs));
    List<Attribute> columns = new ArrayList<>(keysFirst.subList(rank, keysFirst.size()));
    columns.addAll(keysFirst.subList(0, rank));
    return columns;
  }

  /** Where the block columns stand in the input. */
  private BlockSchema pieces() {
    int rank = spec.kind().rank();
    return BlockSchema.find(
            Attributes.schema(ScalaInterop.list(produced)), spec.kind(), spec.operator())
        .mapped(position -> position + rank);
  }

  /** The output column with the content of a key or a grouping column. */
  private Optional<Attribute> renamed(Attribute used) {
    if (Attributes.indexOf(clustering(), used) < 0) {
      return Optional.empty();
    }
    int rank = spec.kind().rank();
    int position = Attributes.indexOf(ScalaInterop.list(inputs), used);
    if (position < rank && !spec.areInCells()) {
      return Optional.empty();
    }
    return Optional.of(
        position < rank
            ? produced.apply(pieces().offsets().get(position) - rank)
            : produced.apply(position - rank));
  }

  @Override
  public String verboseStringWithOperatorId() {
    return verbose("\nTarget: " + spec + Exchange.explained(sparkContext()));
  }
}
