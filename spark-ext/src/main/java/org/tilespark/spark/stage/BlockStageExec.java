package org.tilespark.spark.stage;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.IntUnaryOperator;
import java.util.stream.Collectors;
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
import org.tilespark.spark.catalyst.PartitionsTask;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.exchange.AssembleSpec;
import org.tilespark.spark.exchange.BoundPartitioning;
import org.tilespark.spark.exchange.CutSpec;
import org.tilespark.spark.exchange.Exchange;
import org.tilespark.spark.exchange.SharedPartitions;
import org.tilespark.spark.rows.BlockBatchesToRowsExec;
import org.tilespark.spark.rows.GivesBlockBatches;
import org.tilespark.spark.rows.ReadsBlocks;
import org.tilespark.spark.runtime.BackendChoice;
import org.tilespark.spark.runtime.TaskMetrics;
import scala.Option;
import scala.collection.immutable.Seq;

/**
 * Runs the programs of one or more consecutive operators on blocks: each block is uploaded once,
 * goes through all steps on the device, and is downloaded once. The stage includes the assembling
 * of blocks below and the cutting above: pieces from one exchange are copied directly from their
 * rows into the array, and pieces for the next are copied directly from the result. If programs
 * take several arrays, it requires corresponding blocks in one partition. Takes rows or batches;
 * gives rows, or batches whose value columns are Arrow lists.
 */
public final class BlockStageExec extends MadeAnewExec<StageSpec>
    implements ReadsBlocks, GivesBlockBatches {
  private static final long serialVersionUID = 1;

  static final String PREDICTED = "predictedBytes";
  static final String WHOLE = "numWholeBlocks";
  static final String PIECES = "numPieces";
  static final String BYTES = "rowBytes";

  private final BackendChoice backend;
  private final long batchBytes;
  private final Option<CutSpec> cut;
  private final Seq<Attribute> keys;
  private final Option<String> met;
  private final Seq<SparkPlan> others;

  /**
   * A stage over its children.
   *
   * @param cut cut of the results into pieces; empty if they stay blocks
   * @param inputs columns of the children that are read, in the positions of {@code spec}
   * @param keys key columns in front of pieces; empty if results stay blocks
   * @param produced other output columns, in the positions of {@code spec}
   * @param backend backend that computes
   * @param batchBytes bytes of results in a batch; twice as many may be downloaded to pinned memory
   *     ahead of need
   * @param met reason why corresponding rows of all children are in partitions of the same number
   *     already; empty if an exchange is needed
   * @param child plan that gives the first input
   * @param others plans that give the other inputs
   */
  public BlockStageExec(
      StageSpec spec,
      Option<CutSpec> cut,
      Seq<Attribute> inputs,
      Seq<Attribute> keys,
      Seq<Attribute> produced,
      BackendChoice backend,
      long batchBytes,
      Option<String> met,
      SparkPlan child,
      Seq<SparkPlan> others) {
    super(spec, inputs, produced, child);
    this.backend = backend;
    this.batchBytes = batchBytes;
    this.cut = cut;
    this.keys = keys;
    this.met = met;
    this.others = others;
  }

  /** The expected backend, and why. */
  public BackendChoice backend() {
    return backend;
  }

  /** All children, one for each input. */
  @Override
  public List<SparkPlan> blocks() {
    List<SparkPlan> all = new ArrayList<>(List.of(child));
    all.addAll(ScalaInterop.<SparkPlan>list(others));
    return all;
  }

  /** This node over other children, each of which gives rows or, if they are sorted, batches. */
  @Override
  public BlockStageExec withBlocks(List<SparkPlan> blocks) {
    List<SparkPlan> taken = blocks();
    for (int input = 0; input < taken.size(); input++) {
      SparkPlan offered = blocks.get(input);
      if (offered.supportsRowBased() || Exchange.isSorted(offered, order(input))) {
        taken.set(input, offered);
      } else if (!taken.get(input).supportsRowBased()) {
        taken.set(input, new BlockBatchesToRowsExec(offered)); // the task must sort rows
      }
    }
    return new BlockStageExec(
        spec,
        cut,
        inputs,
        keys,
        produced,
        backend,
        batchBytes,
        met,
        taken.get(0),
        ScalaInterop.seq(taken.subList(1, taken.size())));
  }

  /**
   * No batches if blocks only move, since these are written directly to their rows' destination.
   */
  @Override
  public boolean supportsColumnar() {
    return !onlyMoves();
  }

  /**
   * True, since rows are written directly to their destination, without a conversion from batches.
   */
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

  /** True if nothing is computed: blocks are only assembled or cut. */
  public boolean onlyMoves() {
    return spec.computesNothing() && (cut.isDefined() || assembled().isDefined());
  }

  /** How the first input's blocks are assembled from pieces, if they are. */
  public Option<AssembleSpec> assembled() {
    return spec.first().assembled();
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
    List<SparkPlan> children = blocks();
    List<List<Attribute>> meeting =
        IntStream.range(0, children.size()).mapToObj(this::keys).toList();
    if (meeting.get(0).isEmpty() || met.isDefined()) {
      return ScalaInterop.<Distribution>seq(
          children.stream().map(each -> Exchange.anywhere()).toList());
    }
    Optional<Integer> partitions =
        spec.inputs().stream()
            .map(StageInput::assembled)
            .filter(Option::isDefined)
            .map(assembled -> Exchange.partitions(sparkContext(), assembled.get()))
            .max(Integer::compare);
    if (partitions.isEmpty() && spec.gathered().isDefined()) {
      partitions = Optional.of(Exchange.partitions()); // the number of arrays is unknown
    }
    Optional<Cuts> cells = spec.cells(ScalaInterop.list(inputs));
    if (partitions.isEmpty() && cells.isPresent() && spec.bytes().isPresent()) {
      int planned = Exchange.partitions(sparkContext(), spec.bytes().get(), cells.get());
      partitions = Optional.of(planned);
    }
    return children.size() == 1
        ? ScalaInterop.<Distribution>seq(Exchange.together(child, meeting.get(0), partitions.get()))
        : Exchange.together(children, meeting, partitions);
  }

  /** Requires that the blocks of an array are consecutive. Other inputs are sorted by the task. */
  @Override
  public Seq<Seq<SortOrder>> requiredChildOrdering() {
    boolean isOnlyGathered = others.isEmpty() && assembled().isEmpty();
    return ScalaInterop.<Seq<SortOrder>>seq(
        blocks().stream()
            .map(
                each ->
                    isOnlyGathered
                        ? Attributes.ascending(keys(0))
                        : ScalaInterop.<SortOrder>emptySeq())
            .toList());
  }

  /** The order of rows in which the task needs an input. */
  private Seq<SortOrder> order(int input) {
    return spec.order(input, ScalaInterop.list(inputs));
  }

  /** The columns of an input whose values are equal in corresponding rows. */
  private List<Attribute> keys(int input) {
    return spec.keys(input).stream().map(position -> (Attribute) inputs.apply(position)).toList();
  }

  private boolean isOneTask() {
    return spec.gathered().isDefined() && keys(0).isEmpty();
  }

  /**
   * The child's partitioning in terms of the output, if results are blocks. Pieces have a known
   * partitioning only if their first key hashes to the partition of their block, {@link
   * CutSpec#coPartitioned}.
   */
  @Override
  public Partitioning outputPartitioning() {
    Partitioning partitioning = child.outputPartitioning();
    if (isOneTask()) {
      return Exchange.onePartition();
    }
    if (cut.isEmpty() && keys(0).isEmpty() && !(partitioning instanceof Expression)) {
      return partitioning;
    }
    Partitioning ofBlocks = Exchange.renamed(partitioning, this::renamed);
    return cut.isEmpty() ? ofBlocks : partitioningOfPieces(ofBlocks);
  }

  private Partitioning partitioningOfPieces(Partitioning ofBlocks) {
    Option<BoundPartitioning> expected = cut.get().coPartitioned();
    return expected.isDefined() && expected.get().isThat(ofBlocks, ScalaInterop.list(produced))
        ? Exchange.by(List.of(keys.head()), ofBlocks.numPartitions())
        : Exchange.unknown(ofBlocks.numPartitions());
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
    if (spec.gathered().isDefined()) {
      return ScalaInterop.emptySeq();
    }
    return Attributes.renamedOrdering(
        keys(0).isEmpty() ? child.outputOrdering() : Attributes.ascending(keys(0)), this::renamed);
  }

  /**
   * True if target blocks are cut along one axis at most, so that their places along the other axes
   * are 0.
   */
  private boolean isCutOnce() {
    boolean hasOtherKeys = spec.first().further().size() > spec.furtherOut(produced.size()).size();
    if (assembled().isEmpty()
        || hasOtherKeys
        || spec.program().extents().known().isEmpty()
        || !spec.program().cutAxes().sliced().isEmpty()) {
      return false;
    }
    int cutAxes = 0;
    for (int axis = 0; axis < spec.first().cells().size(); axis++) {
      long block = assembled().get().grid().axis(axis).largest();
      cutAxes += block < spec.program().extents().require().extent(axis) ? 1 : 0;
    }
    return cutAxes <= 1;
  }

  /**
   * The output column that has the values of an input column, a place or a further column; empty if
   * there is none.
   */
  private Optional<Attribute> renamed(Attribute used) {
    int position = Attributes.indexOf(ScalaInterop.list(inputs), used);
    StageInput columns = spec.first();
    int further = columns.further().indexOf(position);
    List<Integer> furtherOut = spec.furtherOut(produced.size());
    if (further >= 0 && further < furtherOut.size()) {
      return Optional.of(produced.apply(furtherOut.get(further)));
    }
    boolean areInCells = assembled().isEmpty() || assembled().get().areInCells();
    if (spec.gathered().isDefined() || !areInCells) {
      return Optional.empty();
    }
    // A block's place is that of its cell. Along axes whose extent changes, blocks are whole and at
    // 0.
    int axis = columns.places().indexOf(position);
    if (axis < 0 || spec.program().cutAxes().sliced().contains(axis)) {
      return Optional.empty();
    }
    Permutation inverse = spec.program().permutation().inverse();
    return Optional.of(produced.apply(spec.out().offsets().get(inverse.axis(axis))));
  }

  // ---- running

  @Override
  protected Map<String, SQLMetric> newMetrics() {
    Map<String, SQLMetric> map = new LinkedHashMap<>();
    if (onlyMoves()) {
      map.put(TaskMetrics.BLOCKS, SQLMetrics.createMetric(sparkContext(), "number of blocks"));
      map.put(WHOLE, SQLMetrics.createMetric(sparkContext(), "blocks that are not cut"));
      map.put(PIECES, SQLMetrics.createMetric(sparkContext(), "number of pieces"));
      map.put(BYTES, SQLMetrics.createSizeMetric(sparkContext(), "bytes of rows", -1));
    } else {
      map.putAll(TaskMetrics.stageMetrics(sparkContext()));
      map.put(
          TaskMetrics.HOST_TIME,
          SQLMetrics.createNanoTimingMetric(sparkContext(), "time computing on the CPU", -1));
    }
    if (assembled().isDefined() && comesByExchange()) {
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
    if (!onlyMoves()) {
      return results(StageRows::new, InternalRow.class);
    }
    MovedRows.Counts counts =
        new MovedRows.Counts(
            metrics().apply(TaskMetrics.BLOCKS),
            metrics().apply(WHOLE),
            metrics().apply(PIECES),
            metrics().apply(BYTES));
    return run(job -> new MoveTask(job, counts), InternalRow.class);
  }

  private <R> RDD<R> results(StageTask.Form<R> form, Class<R> type) {
    return run(job -> new StageTask<>(job, backend, new TaskMetrics(metrics()), form), type);
  }

  private <R> RDD<R> run(Function<StageTask.Job, PartitionsTask<R>> task, Class<R> type) {
    if (assembled().isDefined() && comesByExchange()) {
      assembled().get().predicted().tell(metrics().apply(PREDICTED), sparkContext());
    }
    List<StageTask.Child> children = new ArrayList<>();
    List<RDD<?>> partitions = new ArrayList<>();
    for (int input = 0; input < spec.inputs().size(); input++) {
      SparkPlan each = blocks().get(input);
      boolean isInBatches =
          each.supportsColumnar()
              && spec.inputs().get(input).assembled().isEmpty()
              && Exchange.isSorted(each, order(input));
      children.add(child(input, each, isInBatches));
      partitions.add(
          isInBatches
              ? gathered(each.executeColumnar(), ColumnarBatch.class)
              : gathered(Exchange.sorted(each, order(input)), InternalRow.class));
    }
    StageResults.Output output =
        new StageResults.Output(
            outputPieces(), cut.isDefined() ? cut.get().keys() : null, schema(), batchBytes);
    return atExchange(task.apply(new StageTask.Job(spec, children, output)).over(partitions, type));
  }

  @Override
  protected boolean isAtExchange() {
    return true;
  }

  private <T> RDD<T> gathered(RDD<T> rows, Class<T> type) {
    if (isOneTask()) {
      return Exchange.gathered(rows, type);
    }
    return isExchanged() ? SharedPartitions.asWorkAsks(rows, onlyMoves()) : rows;
  }

  /** True if an exchange follows, so that the assignment of partitions to tasks does not matter. */
  private boolean isExchanged() {
    return cut.isDefined() && cut.get().coPartitioned().isEmpty() && spec.inputs().size() == 1;
  }

  private StageTask.Child child(int input, SparkPlan plan, boolean isInBatches) {
    StageInput columns = spec.inputs().get(input);
    List<Integer> positions = columns.positions();
    Seq<Attribute> read = ScalaInterop.seq(positions.stream().map(inputs::apply).toList());
    ChildColumns.requireFirst(
        this,
        plan,
        ScalaInterop.seq(columns.cells().stream().map(inputs::apply).toList()),
        "A stage expects the cells");
    List<Integer> ordinals = ChildColumns.ordinals(this, plan, read);
    IntUnaryOperator ordinal = position -> ordinals.get(positions.indexOf(position));
    return new StageTask.Child(
        columns.mapped(ordinal),
        Attributes.schema(ScalaInterop.list(plan.output())),
        spec.keys(input).stream().map(ordinal::applyAsInt).toList(),
        isInBatches);
  }

  /** Cuts results into pieces; null if they are not cut. */
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
    String ends =
        pieces(", of pieces (%s)") + (cut.isEmpty() ? "" : ", into pieces (" + cut.get() + ")");
    return onlyMoves()
        ? "BlockStage" + ends.substring(1)
        : "BlockStage %s%s [%s]".formatted(spec, ends, backend);
  }

  @Override
  public String verboseStringWithOperatorId() {
    return verbose(
        "\n%s%s%s\nBackend: %s%s"
            .formatted(
                onlyMoves() ? "Without steps" : "Steps: " + spec,
                pieces("\nOf pieces: %s"),
                cut.isEmpty() ? "" : "\nInto pieces: " + cut.get(),
                backend,
                keys(0).isEmpty() || Exchange.areGathered(blocks()) ? "" : exchange()));
  }

  /** True if pieces come through exchanges, and are not read in place. */
  private boolean comesByExchange() {
    return met.isEmpty() && !Exchange.areGathered(blocks());
  }

  private String exchange() {
    return met.isDefined() ? "\nNo exchange: " + met.get() : Exchange.explained(sparkContext());
  }

  /** The text about how each input's blocks are put together, in a format; "" if none are. */
  private String pieces(String form) {
    return spec.inputs().stream()
        .map(StageInput::assembled)
        .filter(Option::isDefined)
        .map(Option::get)
        .map(each -> form.formatted(comesByExchange() ? each : each.withoutShuffle()))
        .collect(Collectors.joining());
  }

  @Override
  protected List<Object> fields() {
    return List.of(spec, cut, inputs, keys, produced, backend, batchBytes, met, child, others);
  }
}
