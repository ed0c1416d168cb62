package org.tilespark.spark.exchange;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.ToIntFunction;
import java.util.stream.IntStream;
import org.apache.spark.HashPartitioner;
import org.apache.spark.SparkContext;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.expressions.SortOrder$;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.RepartitionByExpression;
import org.apache.spark.sql.catalyst.plans.physical.AllTuples$;
import org.apache.spark.sql.catalyst.plans.physical.BroadcastDistribution;
import org.apache.spark.sql.catalyst.plans.physical.Distribution;
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning;
import org.apache.spark.sql.catalyst.plans.physical.IdentityBroadcastMode$;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.catalyst.plans.physical.SinglePartition$;
import org.apache.spark.sql.catalyst.plans.physical.UnknownPartitioning;
import org.apache.spark.sql.catalyst.plans.physical.UnspecifiedDistribution$;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec;
import org.apache.spark.sql.execution.adaptive.LogicalQueryStage;
import org.apache.spark.sql.execution.adaptive.ShuffleQueryStageExec;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.hash.Murmur3_x86_32;
import org.tilespark.layout.Cuts;
import org.tilespark.spark.block.Bytes;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.catalyst.UncountedRows;
import org.tilespark.spark.catalyst.compat.ClusteredDistributions;
import org.tilespark.spark.catalyst.compat.ShuffleExchanges;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.shuffle.ExchangeChoice;
import scala.Option;
import scala.Tuple2;
import scala.collection.immutable.Seq;

/**
 * Brings rows of blocks and pieces to the tasks that need them. Nodes use it to state the
 * distribution that they require of their children and the partitioning of their own rows; planners
 * use it to build shuffles and to find existing partitionings. No other class builds a shuffle or
 * knows how Spark hashes. {@link ExchangeChoice} decides whether Spark or tilespark moves the rows.
 */
public final class Exchange {
  private static final int HASH_SEED = 42; // the seed of Spark's HashPartitioning

  /** Settings of the number of partitions of a shuffle, which count if the user has set them. */
  private static final List<String> PARTITION_KEYS =
      List.of(
          "spark.sql.shuffle.partitions",
          "spark.sql.adaptive.coalescePartitions.initialPartitionNum");

  private Exchange() {}

  // ---- requirements of a node on a child

  /** No requirement on the partitions of rows. */
  public static Distribution anywhere() {
    return UnspecifiedDistribution$.MODULE$;
  }

  /** The requirement that rows with equal keys are in one partition; without keys, all rows. */
  public static Distribution together(Collection<? extends Expression> keys) {
    return keys.isEmpty() ? AllTuples$.MODULE$ : ClusteredDistributions.of(keys);
  }

  /**
   * The requirement that rows with equal keys are in one partition, of {@code partitions} if a
   * shuffle is needed. If they already are, in any number of partitions, they stay, so adaptive
   * execution may join small partitions.
   */
  public static Distribution together(
      SparkPlan child, Collection<? extends Expression> keys, int partitions) {
    if (areGathered(List.of(child)) || child instanceof PlannedExchangeExec) {
      return anywhere();
    }
    Distribution anyCount = together(keys);
    return keys.isEmpty() || child.outputPartitioning().satisfies(anyCount)
        ? anyCount
        : ClusteredDistributions.of(keys, partitions);
  }

  /**
   * The requirements that rows of several children with equal keys are in one partition. The keys
   * are ordered as an existing partitioning by all of them, since only then does Spark keep it.
   *
   * @param keys key columns of each child
   * @param partitions number of partitions if all children must be shuffled; empty for Spark's
   *     default
   */
  public static Seq<Distribution> together(
      List<SparkPlan> children, List<List<Attribute>> keys, Optional<Integer> partitions) {
    if (areGathered(children)) {
      return ScalaInterop.<Distribution>seq(children.stream().map(each -> anywhere()).toList());
    }
    List<Integer> order =
        IntStream.range(0, children.size())
            .mapToObj(i -> order(children.get(i).outputPartitioning(), keys.get(i)))
            .flatMap(Optional::stream)
            .findFirst()
            .orElseGet(() -> IntStream.range(0, keys.get(0).size()).boxed().toList());
    List<List<Attribute>> ordered =
        keys.stream().map(each -> order.stream().map(each::get).toList()).toList();
    boolean isPlaced =
        partitions.isEmpty()
            || IntStream.range(0, children.size())
                .anyMatch(
                    i -> children.get(i).outputPartitioning().satisfies(together(ordered.get(i))));
    return ScalaInterop.<Distribution>seq(
        ordered.stream()
            .<Distribution>map(
                each ->
                    isPlaced ? together(each) : ClusteredDistributions.of(each, partitions.get()))
            .toList());
  }

  /**
   * True if tasks gather the rows of all children as their parent needs them. The parent then
   * requires no distribution, and a plan without requirements is not re-planned by adaptive
   * execution.
   */
  public static boolean areGathered(List<SparkPlan> children) {
    return children.stream()
        .allMatch(each -> each instanceof GatherRowsExec || each instanceof PiecesInPlaceExec);
  }

  /**
   * The requirement that rows with equal keys are in that one of {@code partitions} partitions
   * which {@link #partition} gives.
   */
  public static Distribution together(Collection<? extends Expression> keys, int partitions) {
    return ClusteredDistributions.ofAll(keys, partitions);
  }

  /** The requirement that all rows are broadcast to every executor, as an array of rows. */
  public static Distribution everywhere() {
    return new BroadcastDistribution(IdentityBroadcastMode$.MODULE$);
  }

  /**
   * The order of rows in which blocks are assembled: by keys; with equal keys first the mark, whose
   * values are null, then pieces by their places.
   */
  public static Seq<SortOrder> pieceOrder(
      List<? extends Expression> keys, Expression values, List<? extends Expression> offsets) {
    List<Expression> order = new ArrayList<>(keys);
    order.add(new IsNotNull(values));
    order.addAll(offsets);
    return Attributes.ascending(order);
  }

  /**
   * The rows of a child with each partition sorted. The task sorts them unless the child does; rows
   * from an exchange in memory are not copied.
   *
   * @param order order over columns of the child
   */
  public static RDD<InternalRow> sorted(SparkPlan child, Seq<SortOrder> order) {
    RDD<InternalRow> rows = child.execute();
    if (isSorted(child, order)) {
      return rows;
    }
    SortedRows sorted =
        new SortedRows(
            child.schema(),
            ScalaInterop.seq(
                ScalaInterop.<SortOrder>list(order).stream()
                    .map(each -> Attributes.bound(each, ScalaInterop.list(child.output())))
                    .toList()));
    return rows.mapPartitions(
        ScalaInterop.function(
            partition -> ScalaInterop.iterator(sorted.of(ScalaInterop.iterator(partition)))),
        true,
        ScalaInterop.classTag(InternalRow.class));
  }

  /** True if the rows of each of the child's partitions are in this order. */
  public static boolean isSorted(SparkPlan child, Seq<SortOrder> order) {
    return SortOrder$.MODULE$.orderingSatisfies(child.outputOrdering(), order);
  }

  // ---- how a node's rows are partitioned

  /** The partitioning by a hash of columns, as a shuffle does it. */
  public static HashPartitioning by(Collection<? extends Expression> keys, int partitions) {
    return new HashPartitioning(ScalaInterop.<Expression>seq(keys), partitions);
  }

  /** True if rows are partitioned by exactly the columns {@code keys}, in this order. */
  public static boolean isBy(Partitioning partitioning, Collection<? extends Expression> keys) {
    return partitioning instanceof HashPartitioning hash
        && hash.expressions().equals(ScalaInterop.<Expression>seq(keys));
  }

  /**
   * A child's partitioning in terms of other columns; unknown if one of its columns has no
   * counterpart.
   */
  public static Partitioning renamed(
      Partitioning partitioning, Function<Attribute, Optional<? extends Expression>> names) {
    return Optional.of(partitioning)
        .filter(Expression.class::isInstance)
        .flatMap(each -> Attributes.renamed((Expression) each, names))
        .map(Partitioning.class::cast)
        .orElseGet(() -> unknown(partitioning.numPartitions()));
  }

  /** The partitioning with all rows in one partition. */
  public static Partitioning onePartition() {
    return SinglePartition$.MODULE$;
  }

  /** The partitioning of rows that are in partitions by no known rule. */
  public static Partitioning unknown(int partitions) {
    return new UnknownPartitioning(partitions);
  }

  /**
   * The position in {@code keys} of each column by which rows are partitioned; empty unless these
   * columns are all of the keys.
   */
  static Optional<List<Integer>> order(Partitioning partitioning, List<Attribute> keys) {
    List<Integer> order = new ArrayList<>();
    if (partitioning instanceof Expression hashed) {
      for (Expression by : ScalaInterop.<Expression>list(hashed.children())) {
        order.add(by instanceof Attribute column ? Attributes.indexOf(keys, column) : -1);
      }
    }
    boolean areAll =
        order.size() == keys.size()
            && !order.contains(-1)
            && order.stream().distinct().count() == keys.size();
    return areAll ? Optional.of(order) : Optional.empty();
  }

  /** The second plan of {@link CheckedBlocks}, for as few stages as it needs. */
  public static LogicalPlan check(SparkContext context, Aggregate check) {
    return SmallArrays.check(context, check);
  }

  /** Spark's default count of partitions, for rows of unknown size. */
  public static int partitions() {
    return Math.max(1, SQLConf.get().numShufflePartitions());
  }

  /** True if the user has said how many partitions an exchange has. */
  static boolean isAsked() {
    return PARTITION_KEYS.stream().anyMatch(SQLConf.get()::contains);
  }

  /**
   * Count of partitions for the pieces of blocks: the user's setting; otherwise a count that fits
   * the work, if metadata states the array's size. For an unknown number of arrays it is at least
   * Spark's default.
   */
  public static int partitions(SparkContext context, AssembleSpec spec) {
    int usual = partitions();
    if (isAsked() || spec.predicted().blocks().isEmpty()) {
      return usual;
    }
    int planned =
        new PartitionPlanner(context.defaultParallelism())
            .partitions(spec.predicted().bytes(), spec.predicted().blocks().get());
    return spec.predicted().perArray() ? Math.max(usual, planned) : planned;
  }

  /**
   * The count of partitions for {@code bytes} bytes of blocks of one tiling, keyed by their places;
   * at most the number of blocks, even if the user asked for more.
   */
  public static int partitions(SparkContext context, long bytes, Cuts blocks) {
    return isAsked()
        ? (int) Math.min(partitions(), Math.max(1, blocks.cells()))
        : new PartitionPlanner(context.defaultParallelism()).partitions(bytes, blocks);
  }

  /**
   * The count of partitions for blocks: by their tiling, or by their bytes alone if it is unknown.
   *
   * @param bytes bytes of all blocks
   * @param cells tiling of one array; empty if it is unknown
   */
  public static int partitions(SparkContext context, long bytes, Optional<Cuts> cells) {
    if (cells.isPresent()) {
      return partitions(context, bytes, cells.get());
    }
    return isAsked()
        ? partitions()
        : new PartitionPlanner(context.defaultParallelism()).partitions(bytes);
  }

  /**
   * The count of partitions for blocks of an unknown number of arrays: by their bytes, if they are
   * in filled caches, otherwise Spark's default.
   */
  public static int partitions(SparkContext context, List<LogicalPlan> arrays) {
    List<InMemoryRelation> frames =
        arrays.stream()
            .map(GatheredByTasks::cached)
            .flatMap(Optional::stream)
            .filter(frame -> frame.cacheBuilder().isCachedColumnBuffersLoaded())
            .toList();
    if (isAsked() || frames.size() < arrays.size()) {
      return partitions();
    }
    long bytes = 0;
    for (InMemoryRelation frame : frames) {
      bytes = Bytes.sum(bytes, frame.stats().sizeInBytes().toLong());
    }
    return new PartitionPlanner(context.defaultParallelism()).partitions(bytes);
  }

  /**
   * True if the pieces of blocks go to one task without an exchange: the array is so small that the
   * task ends before an exchange would start, and its blocks cost little to compute.
   *
   * @param pieces the plan of the pieces
   */
  public static boolean isOneTask(LogicalPlan pieces, AssembleSpec spec) {
    if (spec.predicted().perArray()) {
      return false;
    }
    if (spec.predicted().blocks().isDefined()) {
      return isOneTask(spec.predicted().bytes(), List.of(pieces));
    }
    // If blocks may be missing, the array may be much larger than its blocks.
    return spec.missing() == Missing.ERROR && !isAsked() && SmallArrays.areFewCached(pieces);
  }

  /**
   * A plan in which tasks read the pieces of cached blocks in place; empty if an exchange is
   * needed.
   *
   * @param pieces the plan of the pieces
   * @param by columns by which an exchange would send the pieces
   * @param order order in which a task assembles the pieces
   */
  public static Optional<SparkPlan> inPlace(
      SparkContext context,
      LogicalPlan pieces,
      List<Attribute> by,
      Seq<SortOrder> order,
      AssembleSpec spec,
      Function<LogicalPlan, SparkPlan> planLater) {
    if (spec.images().isDefined() || by.isEmpty()) {
      return Optional.empty();
    }
    int partitions = partitions(context, spec);
    return PiecesInPlaceExec.of(
        context,
        pieces,
        new PiecesInPlaceExec.Readers(by, partitions, partitions, order),
        planLater);
  }

  /** The rows of {@code pieces}, for which {@link #isOneTask} is true, gathered in one task. */
  public static SparkPlan intoOneTask(
      LogicalPlan pieces, Function<LogicalPlan, SparkPlan> planLater) {
    return GatherRowsExec.intoOneTask(planLater.apply(SmallArrays.inOneTask(pieces)));
  }

  /**
   * True if pieces of {@code bytes} bytes in all go to one task without an exchange.
   *
   * @param sources plans of the blocks from which the pieces are cut
   */
  public static boolean isOneTask(long bytes, List<LogicalPlan> sources) {
    return !isAsked() && sources.stream().allMatch(each -> SmallArrays.isSmall(bytes, each));
  }

  /**
   * Most bytes of rows that Spark broadcasts rather than shuffles; negative if it never broadcasts.
   */
  public static long mostBroadcastBytes() {
    return SQLConf.get().autoBroadcastJoinThreshold();
  }

  /**
   * These rows, or one empty partition if there are no partitions, so that a task runs and can
   * report missing blocks.
   */
  public static <T> RDD<T> withPartitions(RDD<T> rows, Class<T> type) {
    return withPartitions(rows, type, 1);
  }

  private static <T> RDD<T> withPartitions(RDD<T> rows, Class<T> type, int empty) {
    return rows.getNumPartitions() > 0
        ? rows
        : rows.sparkContext()
            .parallelize(ScalaInterop.<T>emptySeq(), empty, ScalaInterop.classTag(type));
  }

  /**
   * The rows of all partitions as one partition, which one task reads one after another; empty if
   * there are none.
   */
  public static <T> RDD<T> gathered(RDD<T> rows, Class<T> type) {
    return gathered(rows, type, 1);
  }

  /** These rows for {@code tasks} tasks, each of which reads all of them. */
  static <T> RDD<T> gathered(RDD<T> rows, Class<T> type, int tasks) {
    if (rows.getNumPartitions() == 0) {
      return withPartitions(rows, type, tasks);
    }
    return tasks == 1
        ? rows.coalesce(1, false, Option.empty(), null)
        : rows.coalesce(tasks, false, Option.apply(new EveryPartition()), null);
  }

  // ---- shuffles that planners build

  /**
   * A shuffle by keys with a fixed count of partitions, which adaptive execution does not change.
   */
  public static SparkPlan shuffled(SparkPlan child, List<Attribute> keys, int partitions) {
    return new PlannedExchangeExec(by(keys, partitions), false, child);
  }

  /**
   * The pieces of blocks, shuffled unless equal keys are together already, if their count of
   * partitions is planned and few would be empty. Otherwise the plan {@code pieces} is returned
   * unchanged: then the node that reads it requires an exchange of Spark, and adaptive execution
   * joins small partitions.
   */
  public static SparkPlan planned(SparkPlan pieces, List<Attribute> keys, AssembleSpec spec) {
    Option<Cuts> blocks = spec.predicted().blocks();
    boolean isKnown = !isAsked() && blocks.isDefined() && !spec.predicted().perArray();
    if (!isKnown || keys.isEmpty() || areGathered(List.of(pieces))) {
      return pieces;
    }
    SparkContext context = pieces.sparkContext();
    int partitions = partitions(context, spec);
    return new PartitionPlanner(context.defaultParallelism()).areFilled(partitions, blocks.get())
        ? new PlannedExchangeExec(by(keys, partitions), true, pieces)
        : pieces;
  }

  /**
   * A shuffle by keys that adaptive execution runs as a separate stage, so that {@link #bytes} is
   * known.
   */
  public static SparkPlan measured(SparkPlan child, List<Attribute> keys, int partitions) {
    return shuffle(by(keys, partitions), child);
  }

  static SparkPlan shuffle(HashPartitioning partitioning, SparkPlan child) {
    return ShuffleExchanges.of(partitioning, child);
  }

  /**
   * Bytes of each partition of a measured shuffle; empty if it has not run, as without adaptive
   * execution.
   */
  public static Optional<long[]> bytes(SparkPlan shuffle) {
    return shuffle instanceof ShuffleQueryStageExec stage && stage.mapStats().isDefined()
        ? Optional.of(stage.mapStats().get().bytesByPartitionId())
        : Optional.empty();
  }

  /**
   * Numbered rows, given as pairs of a number (a long) and the row's bytes. Spark's shuffle sends
   * equal numbers to one partition, and sorts each partition by them.
   */
  public static RDD<Tuple2<Object, byte[]>> sortedByNumber(
      RDD<Tuple2<Object, byte[]>> rows, int partitions) {
    Comparator<Object> order =
        (Comparator<Object> & Serializable) (one, other) -> Long.compare((Long) one, (Long) other);
    return new JavaPairRDD<>(
            rows, ScalaInterop.classTag(Object.class), ScalaInterop.classTag(byte[].class))
        .repartitionAndSortWithinPartitions(new HashPartitioner(partitions), order)
        .rdd();
  }

  /** A line of EXPLAIN FORMATTED: whether Spark or tilespark moves the rows, and why. */
  public static String explained(SparkContext context) {
    return "\nExchange: " + choice(context);
  }

  /** True if blocks are expected to go through the exchange in memory, as far as settings say. */
  public static boolean isInMemory(SparkContext context) {
    return choice(context).whyNotInMemory().isEmpty();
  }

  private static ExchangeChoice choice(SparkContext context) {
    return ExchangeChoice.of(context.conf(), TileSparkConf.session());
  }

  // ---- how Spark hashes

  /**
   * The hash of BIGINT keys, of which a shuffle's partition is the remainder by the number of
   * partitions.
   */
  static int hash(long... keys) {
    int hash = HASH_SEED;
    for (long key : keys) {
      hash = Murmur3_x86_32.hashLong(key, hash);
    }
    return hash;
  }

  /**
   * The partition of a row, by Spark's own expression, or by equivalent code for BIGINT and INT
   * columns.
   *
   * @param bound partitioning over {@link BoundReference}s
   */
  static ToIntFunction<InternalRow> partitionOf(HashPartitioning bound) {
    int partitions = bound.numPartitions();
    List<Expression> columns = ScalaInterop.list(bound.expressions());
    boolean areNumbers =
        columns.stream()
            .allMatch(
                column ->
                    column instanceof BoundReference
                        && (column.dataType().equals(DataTypes.LongType)
                            || column.dataType().equals(DataTypes.IntegerType)));
    if (!areNumbers) {
      Expression number = bound.partitionIdExpression();
      return row -> (Integer) number.eval(row);
    }
    int[] ordinals =
        columns.stream().mapToInt(column -> ((BoundReference) column).ordinal()).toArray();
    boolean[] isLong = new boolean[ordinals.length];
    for (int i = 0; i < isLong.length; i++) {
      isLong[i] = columns.get(i).dataType().equals(DataTypes.LongType);
    }
    return row -> {
      int hash = HASH_SEED;
      for (int i = 0; i < ordinals.length; i++) {
        if (!row.isNullAt(ordinals[i])) {
          hash =
              isLong[i]
                  ? Murmur3_x86_32.hashLong(row.getLong(ordinals[i]), hash)
                  : Murmur3_x86_32.hashInt(row.getInt(ordinals[i]), hash);
        }
      }
      return Math.floorMod(hash, partitions);
    };
  }

  /** The partition to which a shuffle by one INT column sends a key. */
  public static int partition(int key, int partitions) {
    return Math.floorMod(Murmur3_x86_32.hashInt(key, HASH_SEED), partitions);
  }

  /** For each partition, a key that {@link #partition} sends there. */
  public static int[] keys(int partitions) {
    int[] keys = new int[partitions];
    boolean[] found = new boolean[partitions];
    int open = partitions;
    for (int key = 0; open > 0; key++) {
      int partition = partition(key, partitions);
      if (!found[partition]) {
        found[partition] = true;
        keys[partition] = key;
        open--;
      }
    }
    return keys;
  }

  // ---- existing partitionings of blocks

  /**
   * The expected partitioning of a plan's rows, in terms of its output, if it can be known. If
   * Spark plans it differently later, it shuffles, and the result is the same.
   */
  public static Optional<HashPartitioning> where(SparkContext context, LogicalPlan plan) {
    if (plan instanceof Filter filter) {
      return where(context, filter.child());
    }
    if (plan instanceof CheckedBlocks checked) {
      return where(context, checked.blocks());
    }
    if (plan instanceof UncountedRows rows) {
      return where(context, rows.child());
    }
    if (plan instanceof Project project) {
      return where(context, project.child()).flatMap(below -> above(project, below));
    }
    if (plan instanceof PartitionsBlocks node) {
      return node.partitioning(context).map(BlockPartitioning::hash);
    }
    if (plan instanceof RepartitionByExpression repartition) {
      return hashed(repartition.partitioning());
    }
    if (plan instanceof LogicalQueryStage stage) { // adaptive execution has run this stage
      return hashed(stage.physicalPlan().outputPartitioning());
    }
    if (plan instanceof InMemoryRelation cached) {
      SparkPlan physical = cached.cachedPlan();
      if (physical instanceof AdaptiveSparkPlanExec adaptive) {
        physical = adaptive.executedPlan(); // the plan that runs is known once the cache is filled
      }
      List<Attribute> before = ScalaInterop.list(cached.cachedPlan().output());
      List<Attribute> after = ScalaInterop.list(cached.output());
      return hashed(physical.outputPartitioning()).flatMap(hash -> renamed(hash, before, after));
    }
    return Optional.empty();
  }

  private static Optional<HashPartitioning> hashed(Partitioning partitioning) {
    return partitioning instanceof HashPartitioning hash ? Optional.of(hash) : Optional.empty();
  }

  private static Optional<HashPartitioning> above(Project project, HashPartitioning below) {
    Attributes.Renamed renamed = Attributes.Renamed.of(project);
    return renamed(below, renamed.below(), renamed.above());
  }

  private static Optional<HashPartitioning> renamed(
      HashPartitioning partitioning, List<Attribute> from, List<Attribute> to) {
    return Attributes.renamed(
            partitioning,
            column -> {
              int position = Attributes.indexOf(from, column);
              return position < 0 ? Optional.empty() : Optional.of(to.get(position));
            })
        .map(HashPartitioning.class::cast);
  }
}
