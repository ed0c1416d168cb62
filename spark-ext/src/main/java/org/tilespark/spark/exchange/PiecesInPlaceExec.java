package org.tilespark.spark.exchange;

import java.io.Serializable;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import org.apache.spark.SparkContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;
import org.tilespark.layout.AxisCuts;
import org.tilespark.layout.Cuts;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.Bytes;
import org.tilespark.spark.cache.CachedFrames;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ChildColumns;
import org.tilespark.spark.catalyst.MadeAnewExec;
import org.tilespark.spark.catalyst.PartitionBoundary;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.conf.ExchangeMode;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.rows.PieceInPlace;
import org.tilespark.spark.rows.ReadsBlocks;
import scala.collection.immutable.Seq;

/**
 * The pieces of cached blocks in the memory of this process, in place of an exchange: each task
 * examines the places of all blocks, and reads in place the pieces that an exchange would have sent
 * to it. Its rows are {@link PieceInPlace}s, so only nodes that know these may be above it.
 */
public final class PiecesInPlaceExec extends MadeAnewExec<CutSpec> implements ReadsBlocks {
  private static final long serialVersionUID = 1;

  /** The reason why there is no exchange, for EXPLAIN. */
  public static final String REASON = "cached blocks are read in place";

  /** Number of pieces that are examined in less time than the fixed cost of an exchange. */
  private static final long FREE_LOOKS = 1 << 18;

  /** Bytes that an exchange copies in the time in which one piece is examined. */
  private static final long BYTES_PER_LOOK = 512;

  private final Seq<Attribute> keys;
  private final Tasks tasks;
  private final Seq<SparkPlan> marks;

  /**
   * The pieces of the blocks of {@code child}.
   *
   * @param inputs columns of the child
   * @param keys key columns, which come first in the output
   * @param produced output columns that correspond to {@code inputs}, after the keys
   * @param tasks the tasks that take the pieces, and the order of each task's rows
   * @param child plan that gives cached blocks
   * @param marks plan that gives marks of blocks, with the columns of the output; or empty
   */
  public PiecesInPlaceExec(
      CutSpec spec,
      Seq<Attribute> inputs,
      Seq<Attribute> keys,
      Seq<Attribute> produced,
      Tasks tasks,
      SparkPlan child,
      Seq<SparkPlan> marks) {
    super(spec, inputs, produced, child);
    this.keys = keys;
    this.tasks = tasks;
    this.marks = marks;
  }

  /**
   * The tasks that take the pieces, in terms of positions of columns in the output.
   *
   * @param shares partitioning that gives the task which takes a row
   * @param order order of a task's rows
   */
  public record Tasks(BoundPartitioning shares, Seq<SortOrder> order) implements Serializable {
    static Tasks of(Readers readers, List<Attribute> output) {
      return new Tasks(
          BoundPartitioning.of(Exchange.by(readers.by(), readers.partitions()), output),
          ScalaInterop.seq(
              ScalaInterop.<SortOrder>list(readers.order()).stream()
                  .map(each -> Attributes.bound(each, output))
                  .toList()));
    }

    int count() {
      return shares.numPartitions();
    }
  }

  /**
   * The tasks of the node above, which need the pieces.
   *
   * @param by columns of a piece, whose hash gives the task that takes the piece
   * @param partitions number of tasks, each with one partition of the pieces
   * @param reads number of times that all blocks are examined, by all tasks together
   * @param order order of rows that a task needs
   */
  public record Readers(List<Attribute> by, int partitions, long reads, Seq<SortOrder> order) {}

  /**
   * The pieces of cached blocks; empty if the blocks are not in place, if an exchange is better, or
   * if Spark's shuffle was requested.
   *
   * @param pieces a {@link CutBlocks}, or a {@link PieceUnion} of one with marks
   */
  public static Optional<SparkPlan> of(
      SparkContext context,
      LogicalPlan pieces,
      Readers readers,
      Function<LogicalPlan, SparkPlan> planLater) {
    LogicalPlan cutting = pieces instanceof PieceUnion union ? union.pieces() : pieces;
    boolean isOneArray =
        !(pieces instanceof PieceUnion union)
            || union.marks() instanceof MarkCells marks
                && marks.child() instanceof Project extents
                && extents.child() instanceof OneRowRelation;
    if (!(cutting instanceof CutBlocks cut)
        || !isOneArray
        || cut.spec().images().isDefined()
        || cut.spec().coPartitioned().isDefined()
        || TileSparkConf.EXCHANGE_MODE.read(TileSparkConf.session()) == ExchangeMode.SPARK) {
      return Optional.empty();
    }
    return GatheredByTasks.cached(cut.child())
        .filter(frame -> CachedFrames.areInPlace(context, frame))
        .filter(frame -> isCheap(cut, frame, readers.reads()))
        .map(
            frame -> {
              List<Attribute> output = ScalaInterop.list(pieces.output());
              return new PiecesInPlaceExec(
                  cut.spec(),
                  cut.inputs(),
                  cut.keys(),
                  ScalaInterop.seq(output.subList(cut.keys().size(), output.size())),
                  Tasks.of(readers, output),
                  GatheredByTasks.rows(cut.child(), planLater),
                  pieces instanceof PieceUnion union
                      ? ScalaInterop.<SparkPlan>seq(planLater.apply(union.marks()))
                      : ScalaInterop.emptySeq());
            });
  }

  /** True if tasks can examine all pieces in less time than an exchange needs to copy them. */
  private static boolean isCheap(CutBlocks cut, InMemoryRelation frame, long reads) {
    if (cut.spec().extents().isEmpty() || frame.stats().rowCount().isEmpty()) {
      return false;
    }
    long bytes = frame.stats().sizeInBytes().toLong();
    long blocks = frame.stats().rowCount().get().toLong();
    return Bytes.product(reads, pieces(cut, blocks))
        <= Math.max(FREE_LOOKS, bytes / BYTES_PER_LOOK);
  }

  /** The approximate number of pieces of {@code blocks} blocks. */
  private static long pieces(CutBlocks cut, long blocks) {
    Shape extents = cut.spec().extents().get();
    int rank = extents.rank();
    if (extents.elements() == 0) {
      return blocks;
    }
    Attribute values = cut.produced().apply(cut.blocks().values());
    Optional<Shape> shape =
        ArrayMetadata.of(values.metadata()).blockShape(rank).filter(each -> each.elements() > 0);
    AxisCuts[] from = new AxisCuts[rank];
    AxisCuts[] to = new AxisCuts[rank];
    for (int axis = 0; axis < rank; axis++) {
      long extent = extents.extent(axis);
      AxisCuts cuts = cut.spec().cuts().axis(axis);
      to[axis] = cuts.extent() == extent ? cuts : AxisCuts.every(cuts.largest(), extent);
      from[axis] = AxisCuts.every(shape.isEmpty() ? extent : shape.get().extent(axis), extent);
    }
    long count = new PieceSizes(Cuts.of(from), Cuts.of(to)).count();
    // A block of unknown shape may be long along any axis.
    return shape.isEmpty() ? Bytes.sum(blocks, Bytes.product(1L << rank, count)) : count;
  }

  @Override
  public Seq<Attribute> output() {
    List<Attribute> all = ScalaInterop.list(keys);
    all.addAll(ScalaInterop.list(produced));
    return ScalaInterop.seq(all);
  }

  @Override
  public Partitioning outputPartitioning() {
    return tasks.shares().over(ScalaInterop.list(output()));
  }

  @Override
  public Seq<SortOrder> outputOrdering() {
    List<Attribute> columns = ScalaInterop.list(output());
    return ScalaInterop.seq(
        ScalaInterop.<SortOrder>list(tasks.order()).stream()
            .map(
                each ->
                    (SortOrder)
                        each.transform(
                            ScalaInterop.partialFunction(
                                e ->
                                    e instanceof BoundReference reference
                                        ? Optional.of(columns.get(reference.ordinal()))
                                        : Optional.empty())))
            .toList());
  }

  @Override
  public List<SparkPlan> blocks() {
    return List.of(child);
  }

  @Override
  public SparkPlan withBlocks(List<SparkPlan> blocks) {
    SparkPlan offered = blocks.get(0);
    return new PiecesInPlaceExec(
        spec, inputs, keys, produced, tasks, offered.supportsRowBased() ? offered : child, marks);
  }

  /** Rows that a task has opened: those of all blocks, before the marks are opened. */
  private record Opened(int task, scala.collection.Iterator<InternalRow> blocks) {}

  @Override
  public RDD<InternalRow> doExecute() {
    List<Integer> read = ChildColumns.ordinals(this, child, inputs);
    PiecesOfTask pieces =
        new PiecesOfTask(
            spec,
            CutBlocks.blocks(spec, ScalaInterop.list(produced)).mapped(read::get),
            read,
            Attributes.schema(ScalaInterop.list(child.output())),
            tasks);
    RDD<InternalRow> blocks = Exchange.gathered(child.execute(), InternalRow.class, tasks.count());
    if (marks.isEmpty()) {
      return blocks.mapPartitionsWithIndex(
          ScalaInterop.function2(
              (task, rows) ->
                  PartitionBoundary.<InternalRow, InternalRow>over(
                      rows,
                      each -> pieces.of((Integer) task, each, List.<InternalRow>of().iterator()))),
          true,
          ScalaInterop.classTag(InternalRow.class));
    }
    return blocks
        .mapPartitionsWithIndex(
            ScalaInterop.function2(
                (task, rows) ->
                    ScalaInterop.iterator(List.of(new Opened((Integer) task, rows)).iterator())),
            true,
            ScalaInterop.classTag(Opened.class))
        .zipPartitions(
            Exchange.gathered(marks.head().execute(), InternalRow.class, tasks.count()),
            true,
            ScalaInterop.function2(
                (opened, all) -> {
                  Opened one = opened.next();
                  return PartitionBoundary.<InternalRow, InternalRow>over(
                      List.of(one.blocks(), all),
                      inputs -> pieces.of(one.task(), inputs.get(0), inputs.get(1)));
                }),
            ScalaInterop.classTag(InternalRow.class),
            ScalaInterop.classTag(InternalRow.class));
  }

  @Override
  public String nodeName() {
    return "PiecesInPlace";
  }

  @Override
  public String simpleString(int maxFields) {
    return "PiecesInPlace (" + spec + ") for " + tasks.count() + " parts";
  }

  @Override
  public String verboseStringWithOperatorId() {
    return verbose("\nInto pieces: " + spec + "\nNo exchange: " + REASON);
  }

  @Override
  protected List<Object> fields() {
    return List.of(spec, inputs, keys, produced, tasks, child, marks);
  }
}
