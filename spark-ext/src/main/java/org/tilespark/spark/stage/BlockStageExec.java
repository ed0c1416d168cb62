package org.tilespark.spark.stage;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.plans.physical.Distribution;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.execution.metric.SQLMetrics;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.tilespark.layout.Cuts;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.PieceCursor;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ChildColumns;
import org.tilespark.spark.catalyst.MadeAnewExec;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.exchange.AssembleSpec;
import org.tilespark.spark.exchange.CutSpec;
import org.tilespark.spark.exchange.Exchange;
import org.tilespark.spark.rows.GivesBlockBatches;
import org.tilespark.spark.rows.ReadsBlocks;
import org.tilespark.spark.runtime.BackendChoice;
import org.tilespark.spark.runtime.TaskMetrics;
import scala.Option;
import scala.collection.immutable.Seq;

/**
 * Runs the programs of one or more operators on blocks that follow each other: each block goes to
 * the device once, through all steps there, and back once. With the assembling of blocks below them
 * and the cutting of blocks above: pieces from one exchange are put into the array straight from
 * their rows, and pieces for the next are taken straight from the result. Takes rows or batches,
 * gives rows, or batches whose value columns are Arrow lists.
 */
public final class BlockStageExec extends MadeAnewExec<StageSpec>
    implements ReadsBlocks, GivesBlockBatches {
  private static final long serialVersionUID = 1;

  static final String PREDICTED = "predictedBytes";

  private final BackendChoice backend;
  private final long batchBytes;
  private final Option<AssembleSpec> assembled;
  private final Option<CutSpec> cut;
  private final Seq<Attribute> cells;
  private final Seq<Attribute> keys;

  /**
   * A stage over {@code child}.
   *
   * @param assembled how blocks are put together from pieces; empty if the child gives blocks
   * @param cut how results are cut into pieces; empty if they stay blocks
   * @param cells columns of the child with the place of a piece's target block; empty if it gives
   *     blocks
   * @param inputs columns of the child that are read, in the positions that {@code spec} has
   * @param keys columns of keys in front of pieces; empty if results stay blocks
   * @param produced further output, in the positions that {@code spec} has
   * @param backend who computes
   * @param batchBytes of results; twice as many may be in pinned memory before they are asked for
   */
  public BlockStageExec(
      StageSpec spec,
      Option<AssembleSpec> assembled,
      Option<CutSpec> cut,
      Seq<Attribute> cells,
      Seq<Attribute> inputs,
      Seq<Attribute> keys,
      Seq<Attribute> produced,
      BackendChoice backend,
      long batchBytes,
      SparkPlan child) {
    super(spec, inputs, produced, child);
    this.backend = backend;
    this.batchBytes = batchBytes;
    this.assembled = assembled;
    this.cut = cut;
    this.cells = cells;
    this.keys = keys;
  }

  /** Who is expected to compute, and why. */
  public BackendChoice backend() {
    return backend;
  }

  /** The only child. */
  @Override
  public SparkPlan blocks() {
    return child;
  }

  @Override
  public boolean supportsColumnar() {
    return true;
  }

  /** Rows are made where they go: nobody turns batches into rows. */
  @Override
  public boolean supportsRowBased() {
    return true;
  }

  @Override
  public Option<Seq<String>> vectorTypes() {
    List<Integer> planes = spec.out().planes().stream().map(at -> keys.size() + at).toList();
    return Option.apply(
        ScalaInterop.seq(
            IntStream.range(0, output().size())
                .mapToObj(i -> planes.contains(i) ? ArrowColumnVector.class : ColumnVector.class)
                .map(Class::getName)
                .toList()));
  }

  /** How blocks are put together from pieces first, if they are. */
  public Option<AssembleSpec> assembled() {
    return assembled;
  }

  /** This node over another child, which gives rows or batches. */
  @Override
  public BlockStageExec withBlocks(SparkPlan newChild) {
    return new BlockStageExec(
        spec, assembled, cut, cells, inputs, keys, produced, backend, batchBytes, newChild);
  }

  @Override
  public Seq<Attribute> output() {
    List<Attribute> all = ScalaInterop.list(keys);
    all.addAll(ScalaInterop.list(produced));
    return ScalaInterop.seq(all);
  }

  // ---- where rows must be, and where they are

  @Override
  public Seq<Distribution> requiredChildDistribution() {
    List<Attribute> together = together();
    if (together.isEmpty()) {
      return ScalaInterop.<Distribution>seq(Exchange.anywhere());
    }
    int partitions =
        assembled.isDefined()
            ? Exchange.partitions(sparkContext(), assembled.get())
            : Exchange.partitions(); // how many arrays there are is not known
    return ScalaInterop.<Distribution>seq(Exchange.together(child, together, partitions));
  }

  /** Rows of an array together; of pieces the mark first, then in the order of their places. */
  @Override
  public Seq<Seq<SortOrder>> requiredChildOrdering() {
    return ScalaInterop.<Seq<SortOrder>>seq(
        assembled.isEmpty() ? Attributes.ascending(together()) : ScalaInterop.emptySeq());
  }

  /** The rows of the child; pieces sorted. */
  private RDD<InternalRow> rows() {
    return assembled.isEmpty()
        ? child.execute()
        : Exchange.sorted(
            child,
            Exchange.pieceOrder(
                together(),
                inputs.apply(spec.in().values()),
                spec.in().offsets().stream().map(inputs::apply).toList()));
  }

  /** Columns in which the rows of one array agree, if it is more than one row. */
  private List<Attribute> together() {
    List<Attribute> columns = new ArrayList<>();
    if (assembled.isDefined() || spec.gathered().isDefined()) {
      spec.furtherIn(inputs.size()).forEach(position -> columns.add(inputs.apply(position)));
      columns.addAll(ScalaInterop.<Attribute>list(cells));
    }
    return columns;
  }

  private boolean isOneTask() {
    return spec.gathered().isDefined() && together().isEmpty();
  }

  /** The child's, in terms of the output, where blocks stay blocks. */
  @Override
  public Partitioning outputPartitioning() {
    Partitioning partitioning = child.outputPartitioning();
    if (isOneTask()) {
      return Exchange.onePartition();
    }
    if (cut.isDefined()) {
      return Exchange.unknown(partitioning.numPartitions());
    }
    boolean isBlockByBlock = assembled.isEmpty() && spec.gathered().isEmpty();
    return isBlockByBlock && !(partitioning instanceof Expression)
        ? partitioning
        : Exchange.renamed(partitioning, this::renamed);
  }

  @Override
  public Seq<SortOrder> outputOrdering() {
    if (cut.isDefined()) {
      return ScalaInterop.emptySeq();
    }
    if (isCutOnce()) {
      List<Attribute> columns = new ArrayList<>();
      spec.furtherOut(produced.size()).forEach(position -> columns.add(produced.apply(position)));
      spec.out().offsets().forEach(position -> columns.add(produced.apply(position)));
      return Attributes.ascending(columns);
    }
    if (assembled.isDefined()) {
      return Attributes.renamedOrdering(Attributes.ascending(together()), this::renamed);
    }
    return spec.gathered().isEmpty()
        ? Attributes.renamedOrdering(child.outputOrdering(), this::renamed)
        : ScalaInterop.emptySeq();
  }

  /** True if target blocks are cut along one axis at most, so that other places are all 0. */
  private boolean isCutOnce() {
    if (assembled.isEmpty()) {
      return false;
    }
    int cutAxes = 0;
    for (int axis = 0; axis < cells.size(); axis++) {
      long block = assembled.get().grid().axis(axis).largest();
      cutAxes += block < spec.program().extents().require().extent(axis) ? 1 : 0;
    }
    return cutAxes <= 1;
  }

  /** The output column with the content of a place or a further column. */
  private Optional<Attribute> renamed(Attribute used) {
    List<Attribute> read = ScalaInterop.list(inputs);
    int further = spec.furtherIn(read.size()).indexOf(Attributes.indexOf(read, used));
    if (further >= 0) {
      return Optional.of(produced.apply(spec.furtherOut(produced.size()).get(further)));
    }
    if (spec.gathered().isDefined()) {
      return Optional.empty();
    }
    // A block's place is that of its cell. Along axes that grow or shrink blocks are whole, at 0.
    int axis =
        assembled.isDefined()
            ? Attributes.indexOf(ScalaInterop.list(cells), used)
            : spec.in().offsets().indexOf(Attributes.indexOf(read, used));
    if (axis < 0) {
      return Optional.empty();
    }
    Permutation inverse = spec.program().permutation().inverse();
    return Optional.of(produced.apply(spec.out().offsets().get(inverse.axis(axis))));
  }

  // ---- running

  @Override
  protected Map<String, SQLMetric> newMetrics() {
    Map<String, SQLMetric> map = TaskMetrics.stageMetrics(sparkContext());
    map.put(
        TaskMetrics.HOST_TIME,
        SQLMetrics.createNanoTimingMetric(sparkContext(), "time computing on the CPU", -1));
    if (assembled.isDefined()) {
      map.put(PREDICTED, SQLMetrics.createSizeMetric(sparkContext(), "predicted data size", -1));
    }
    return map;
  }

  @Override
  public RDD<ColumnarBatch> doExecuteColumnar() {
    return results(StageBatches::new, ColumnarBatch.class);
  }

  @Override
  public RDD<InternalRow> doExecute() {
    return results(StageRows::new, InternalRow.class);
  }

  private <R> RDD<R> results(StageTask.Form<R> form, Class<R> type) {
    if (assembled.isDefined()) {
      assembled.get().predicted().tell(metrics().apply(PREDICTED), sparkContext());
    }
    TaskMetrics taskMetrics = new TaskMetrics(metrics());
    StageTask.Job job = job();
    return atExchange(
        child.supportsColumnar()
            ? new StageTask<ColumnarBatch, R>(
                    job, backend, taskMetrics, StageTask::overBatches, form)
                .over(gathered(child.executeColumnar(), ColumnarBatch.class), type, true)
            : new StageTask<InternalRow, R>(job, backend, taskMetrics, StageTask::overRows, form)
                .over(gathered(rows(), InternalRow.class), type, true));
  }

  @Override
  protected boolean isAtExchange() {
    return true;
  }

  private <T> RDD<T> gathered(RDD<T> rows, Class<T> type) {
    return isOneTask() ? Exchange.gathered(rows, type) : rows;
  }

  private StageTask.Job job() {
    ChildColumns.requireFirst(this, child, cells, "A stage expects the cells");
    return new StageTask.Job(
        spec,
        new StageTask.Input(
            assembled.isDefined() ? assembled.get() : null,
            Attributes.schema(ScalaInterop.list(child.output())),
            Attributes.schema(ScalaInterop.list(inputs)),
            ChildColumns.ordinals(this, child, inputs),
            ChildColumns.ordinals(this, child, ScalaInterop.seq(together()))),
        new StageResults.Output(
            outputPieces(), cut.isDefined() ? cut.get().keys() : null, schema(), batchBytes));
  }

  /** Null where results leave whole. */
  private StageResults.Pieces outputPieces() {
    if (cut.isDefined()) {
      return cut.get()::pieces;
    }
    if (spec.gathered().isEmpty()) {
      return null;
    }
    Cuts blocks = StageSpec.every(spec.gathered().get());
    return () -> new PieceCursor(blocks);
  }

  // ---- telling

  @Override
  public String simpleString(int maxFields) {
    return "BlockStage %s%s%s [%s]"
        .formatted(
            spec,
            assembled.isEmpty() ? "" : ", of pieces (" + assembled.get() + ")",
            cut.isEmpty() ? "" : ", into pieces (" + cut.get() + ")",
            backend);
  }

  @Override
  public String verboseStringWithOperatorId() {
    return verbose(
        "\nSteps: %s%s%s\nBackend: %s%s"
            .formatted(
                spec,
                assembled.isEmpty() ? "" : "\nOf pieces: " + assembled.get(),
                cut.isEmpty() ? "" : "\nInto pieces: " + cut.get(),
                backend,
                together().isEmpty() ? "" : Exchange.explained(sparkContext())));
  }

  @Override
  protected List<Object> fields() {
    return List.of(spec, assembled, cut, cells, inputs, keys, produced, backend, batchBytes, child);
  }
}
