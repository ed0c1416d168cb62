package org.tilespark.spark.nearest;

import java.io.Serializable;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.UUID;
import java.util.function.Function;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.physical.Distribution;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.execution.metric.SQLMetrics;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tilespark.spark.catalyst.PartitionBoundary;
import org.tilespark.spark.catalyst.PhysicalBlockNode;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.error.ErrorBoundary;
import org.tilespark.spark.exchange.Exchange;
import org.tilespark.spark.exchange.SharedPartitions;
import org.tilespark.spark.runtime.BackendChoice;
import org.tilespark.spark.runtime.TaskMetrics;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;
import scala.reflect.ClassTag;

/**
 * Runs {@link NearestRows} over strips of both sides: each task compares a part of the left side
 * with a part of the right one. Both sides are shuffled; in a small join, one side is sent to every
 * task instead, and the other stays in place. If the right side is cut, another shuffle collects
 * the winners of each row.
 */
public final class NearestExec extends PhysicalBlockNode {
  private static final long serialVersionUID = 1;
  private static final Logger LOG = LoggerFactory.getLogger(NearestExec.class);

  static final String ROWS = "numOutputRows";

  private static final int VECTOR_BYTES = 512; // of one vector, if its length is unknown

  /** Limit of estimates, so that sums do not overflow. */
  private static final BigInteger MOST_BYTES = BigInteger.valueOf(Long.MAX_VALUE >> 8);

  private final NearestSpec spec;
  private final BackendChoice backend;
  private final Sides sides;
  private final Seq<Attribute> produced;
  private final SparkPlan left;
  private final SparkPlan right;

  /**
   * Facts of both sides before they are read.
   *
   * @param columns number of output columns of the left side
   * @param partitions number of partitions of a shuffle of either side, and of winners
   * @param leftBytes estimated bytes of the left side; {@code rightBytes} likewise, of the right
   *     side
   * @param sent side that is sent whole to every task
   */
  public record Sides(int columns, int partitions, long leftBytes, long rightBytes, SentSide sent)
      implements Serializable {}

  /**
   * The node over strips.
   *
   * @param backend backend that computes
   * @param produced columns of both sides
   */
  public NearestExec(
      NearestSpec spec,
      BackendChoice backend,
      Sides sides,
      Seq<Attribute> produced,
      SparkPlan left,
      SparkPlan right) {
    this.spec = spec;
    this.backend = backend;
    this.sides = sides;
    this.produced = produced;
    this.left = left;
    this.right = right;
  }

  /**
   * The plan of a join.
   *
   * @param cores cores of the cluster
   * @param planLater plans the join's sides
   */
  public static SparkPlan of(
      NearestRows join,
      BackendChoice backend,
      int cores,
      Function<LogicalPlan, SparkPlan> planLater) {
    long leftBytes = bytes(join.side(false));
    long rightBytes = bytes(join.side(true));
    long wanted = Math.max(2L * cores, leftBytes / NearestGrid.MOST_LEFT_BYTES * 2);
    int partitions = (int) Math.min(wanted, Math.max(2 * cores, Exchange.partitions()));
    SentSide sent = SentSide.of(leftBytes, rightBytes, Exchange.mostBroadcastBytes());
    return new NearestExec(
        join.spec(),
        backend,
        new Sides(join.kept(false).size(), partitions, leftBytes, rightBytes, sent),
        join.output(),
        strips(join, false, partitions, sent, planLater),
        strips(join, true, partitions, sent, planLater));
  }

  private static long bytes(LogicalPlan side) {
    return side.stats().sizeInBytes().bigInteger().min(MOST_BYTES).longValueExact();
  }

  private static SparkPlan strips(
      NearestRows join,
      boolean right,
      int partitions,
      SentSide sent,
      Function<LogicalPlan, SparkPlan> planLater) {
    List<Attribute> inputs = new ArrayList<>(List.of(join.vector(right)));
    inputs.addAll(join.kept(right));
    List<Attribute> columns = Strip.columns();
    StripSpec spec = new StripSpec(!right && join.spec().outer(), partitions);
    SparkPlan strips =
        new StripRowsExec(
            spec,
            ScalaInterop.seq(inputs),
            ScalaInterop.seq(columns),
            planLater.apply(join.side(right)));
    return sent == SentSide.NEITHER
        ? Exchange.measured(strips, List.of(columns.get(Strip.KEY)), partitions)
        : strips;
  }

  @Override
  public Seq<Distribution> requiredChildDistribution() {
    return ScalaInterop.<Distribution>seq(
        sides.sent() == SentSide.LEFT ? Exchange.everywhere() : Exchange.anywhere(),
        sides.sent() == SentSide.RIGHT ? Exchange.everywhere() : Exchange.anywhere());
  }

  /** Facts of both sides. */
  Sides sides() {
    return sides;
  }

  @Override
  public Seq<Attribute> output() {
    return produced;
  }

  @Override
  protected Map<String, SQLMetric> newMetrics() {
    Map<String, SQLMetric> map = new LinkedHashMap<>();
    map.put(ROWS, SQLMetrics.createMetric(sparkContext(), "number of output rows"));
    map.putAll(TaskMetrics.stageMetrics(sparkContext()));
    map.put(
        TaskMetrics.HOST_TIME,
        SQLMetrics.createNanoTimingMetric(sparkContext(), "time multiplying on the CPU", -1));
    return map;
  }

  private MatchedRows.Form form() {
    return new MatchedRows.Form(
        ScalaInterop.<Attribute>list(produced).stream().map(Attribute::dataType).toList(),
        sides.columns(),
        spec.outer());
  }

  private NearestTask task() {
    return new NearestTask(
        spec,
        form(),
        TileSparkConf.BATCH_SIZE.read(TileSparkConf.session()),
        backend,
        new TaskMetrics(metrics()),
        UUID.randomUUID());
  }

  private NearestGrid grid() {
    return NearestGrid.of(
        bytes(left, sides.leftBytes()),
        bytes(right, sides.rightBytes()),
        sparkContext().defaultParallelism(),
        mergeFactor());
  }

  /** Bytes of each partition of a side. */
  private long[] bytes(SparkPlan side, long estimate) {
    return Exchange.bytes(side)
        .orElseGet(
            () -> {
              long[] each = new long[sides.partitions()];
              Arrays.fill(each, Math.max(1, estimate / each.length));
              return each;
            });
  }

  private double mergeFactor() {
    List<Attribute> columns = ScalaInterop.list(produced);
    double ofLeft = VECTOR_BYTES + rowBytes(columns.subList(0, sides.columns()));
    return spec.k() * rowBytes(columns.subList(sides.columns(), columns.size())) / ofLeft;
  }

  private static double rowBytes(List<Attribute> columns) {
    return 2 * Long.BYTES + columns.stream().mapToInt(each -> each.dataType().defaultSize()).sum();
  }

  @Override
  public RDD<InternalRow> doExecute() {
    NearestTask task = task();
    Shared shared = sides.sent() == SentSide.NEITHER ? shuffled() : besidesSent();
    NearestGrid grid = shared.grid();
    LOG.debug("{} in {} tasks", spec, grid);
    SQLMetric rows = metrics().apply(ROWS);
    MatchedRows.Form form = task.form();
    if (!grid.isMerged()) {
      return made(
          shared,
          (number, parts) ->
              new MatchedRows(form, rows, task.matches(parts.get(0), parts.get(1), true)),
          InternalRow.class);
    }
    @SuppressWarnings("unchecked") // erased
    Class<Tuple2<Object, byte[]>> pairs = (Class<Tuple2<Object, byte[]>>) (Class<?>) Tuple2.class;
    RDD<Tuple2<Object, byte[]>> candidates =
        made(
            shared,
            (number, parts) ->
                new Candidates.Written(
                    task.matches(parts.get(0), parts.get(1), grid.isFirst(number))),
            pairs);
    int k = spec.k();
    return Exchange.sortedByNumber(candidates, sides.partitions())
        .mapPartitions(
            ScalaInterop.function(
                parts ->
                    PartitionBoundary.over(
                        parts,
                        own -> new MatchedRows(form, rows, new Candidates.Merged(form, k, own)))),
            false,
            ScalaInterop.classTag(InternalRow.class));
  }

  /** The strips of both sides of a task. Used only inside the task. */
  private record Parts(int task, Iterator<InternalRow> left, Iterator<InternalRow> right) {}

  /** The parts of each task, one partition per task, and the grid that assigns them. */
  private record Shared(NearestGrid grid, RDD<Parts> parts) {}

  /** Parts of shuffled sides. */
  private Shared shuffled() {
    NearestGrid grid = grid();
    ClassTag<Parts> type = ScalaInterop.classTag(Parts.class);
    RDD<Parts> lefts =
        SharedPartitions.of(left.execute(), sides.partitions(), grid.ofTasks(false))
            .mapPartitionsWithIndex(
                ScalaInterop.<Object, Iterator<InternalRow>, Iterator<Parts>>function2(
                    (task, rows) -> one(new Parts((Integer) task, rows, null))),
                false,
                type);
    RDD<InternalRow> rights =
        SharedPartitions.of(right.execute(), sides.partitions(), grid.ofTasks(true));
    return new Shared(
        grid,
        lefts.zipPartitions(
            rights,
            false,
            ScalaInterop.<Iterator<Parts>, Iterator<InternalRow>, Iterator<Parts>>function2(
                (ofLeft, ofRight) -> {
                  Parts first = ofLeft.next();
                  return one(new Parts(first.task(), first.left(), ofRight));
                }),
            ScalaInterop.classTag(InternalRow.class),
            type));
  }

  /** Pairs all rows of the side that is sent with each partition of the other one. */
  private Shared besidesSent() {
    boolean sendsRight = sides.sent() == SentSide.RIGHT;
    Broadcast<InternalRow[]> sent =
        ErrorBoundary.await((sendsRight ? right : left)::executeBroadcast);
    RDD<InternalRow> stays =
        Exchange.withPartitions((sendsRight ? left : right).execute(), InternalRow.class);
    return new Shared(
        NearestGrid.besides(sendsRight, stays.getNumPartitions()),
        stays.mapPartitionsWithIndex(
            ScalaInterop.<Object, Iterator<InternalRow>, Iterator<Parts>>function2(
                (task, rows) -> {
                  Iterator<InternalRow> all =
                      ScalaInterop.iterator(Arrays.asList(sent.value()).iterator());
                  return one(
                      new Parts((Integer) task, sendsRight ? rows : all, sendsRight ? all : rows));
                }),
            false,
            ScalaInterop.classTag(Parts.class)));
  }

  private static Iterator<Parts> one(Parts parts) {
    return ScalaInterop.iterator(List.of(parts).iterator());
  }

  /**
   * Computes the results of a task from its part of each side.
   *
   * @param <R> type of a result
   */
  private interface Made<R> extends Serializable {
    java.util.Iterator<R> open(int task, List<java.util.Iterator<InternalRow>> parts);
  }

  private static <R> RDD<R> made(Shared shared, Made<R> made, Class<R> type) {
    return shared
        .parts()
        .mapPartitions(
            ScalaInterop.function(
                each -> {
                  Parts own = each.next();
                  return PartitionBoundary.over(
                      List.of(own.left(), own.right()), parts -> made.open(own.task(), parts));
                }),
            false,
            ScalaInterop.classTag(type));
  }

  @Override
  public String nodeName() {
    return "NearestRows";
  }

  @Override
  public String simpleString(int maxFields) {
    return nodeName() + " " + spec + " [" + backend + "]";
  }

  @Override
  public String verboseStringWithOperatorId() {
    return formattedNodeName()
        + "\n"
        + spec
        + "\nOutput: "
        + ScalaInterop.list(output())
        + "\nSent to every task: "
        + sides.sent().toString().toLowerCase(Locale.ROOT)
        + "\nBackend: "
        + backend
        + "\n";
  }

  @Override
  protected List<Object> fields() {
    return List.of(spec, backend, sides, produced, left, right);
  }
}
