package org.tilespark.spark.multiply;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning;
import org.tilespark.kernels.device.DeviceProbe;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.block.Bytes;
import org.tilespark.spark.conf.Backend;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.exchange.Exchange;
import org.tilespark.spark.multiply.cost.ClusterLimits;
import org.tilespark.spark.multiply.cost.CuboidPlan;
import org.tilespark.spark.multiply.cost.CuboidPlan.Candidate;
import org.tilespark.spark.multiply.cost.CuboidPlan.Cost;
import org.tilespark.spark.multiply.cost.CuboidPlan.Strategy;
import org.tilespark.spark.multiply.cost.CuboidPlanner;
import org.tilespark.spark.multiply.cost.MultiplyShape;
import org.tilespark.spark.multiply.cost.MultiplyShape.Axis;
import org.tilespark.spark.multiply.cost.MultiplyShape.Placed;
import org.tilespark.spark.options.MultiplyOptions;
import org.tilespark.spark.runtime.BackendChoice;
import org.tilespark.spark.runtime.BackendPlanner;
import org.tilespark.spark.runtime.ExecutorReports;
import org.tilespark.spark.runtime.ExecutorRuntime;

/**
 * Chooses how a product is spread over tasks: what is known of the operands, of the cluster and of
 * what the user asked for goes to {@link CuboidPlanner}; grams have cuts of their own.
 */
final class MultiplyChoice {
  /** Panels may exceed a batch so many times to be deep. */
  static final long BATCHES = 4;

  /** A matrix that is broadcast takes one part in so many of a Java heap, at most. */
  private static final int HEAP_SHARE = 8;

  private static final int REJECTED = 4;

  private final SparkContext context;
  private final MultiplyBlocks product;
  private final MultiplySpec spec;
  private final BackendChoice backend;
  private final ClusterLimits limits;
  private List<Optional<PlacedOperand>> placed; // of A and B; null until asked for

  /** The choice for one product. */
  MultiplyChoice(SparkContext context, MultiplyBlocks product) {
    this.context = context;
    this.product = product;
    this.spec = product.spec();
    this.backend =
        BackendPlanner.choose(TileSparkConf.BACKEND.read(TileSparkConf.session()), context);
    this.limits = findLimits();
  }

  /** What one task and the cluster hold. */
  ClusterLimits limits() {
    return limits;
  }

  /**
   * The plan of the product.
   *
   * @throws IllegalArgumentException if no cut fits, or what was asked for cannot be; says why
   */
  CuboidPlan plan() {
    return spec.gram() ? gramPlan() : cuboidPlan();
  }

  /** Where tasks compute. */
  BackendChoice backend() {
    return backend;
  }

  /** True if one operand will be broadcast, and what the other's blocks make are blocks of C. */
  boolean broadcastsWhole() {
    try {
      Candidate chosen = plan().chosen();
      return chosen.strategy().isBroadcast() && chosen.cost().partialBytes() == 0;
    } catch (IllegalArgumentException e) {
      return false; // planning fails later, and says why
    }
  }

  /** How the blocks of C will be partitioned, as far as that can be known. */
  Optional<HashPartitioning> partitioning() {
    try {
      CuboidPlan plan = plan();
      return plan.chosen().cost().partialBytes() > 0
          ? Optional.of(SumBlocksExec.partitioning(product.produced(), partitionsOfSums()))
          : partitioningInPlace(plan);
    } catch (IllegalArgumentException e) {
      return Optional.empty(); // planning it fails later, and says why
    }
  }

  /** The same of blocks that are made where an operand's are; others lie by cuboids. */
  Optional<HashPartitioning> partitioningInPlace(CuboidPlan plan) {
    return plan.chosen().strategy().isInPlace()
        ? placedOperand(plan).partitioningOfProduct(product)
        : Optional.empty();
  }

  /** Over how many partitions partial blocks of C are added. */
  int partitionsOfSums() {
    return spec.groups() > 0 // how many matrices there are is not known
        ? Exchange.partitions()
        : (int) Math.min(Exchange.partitions(), Math.max(1, blocksOfC()));
  }

  /** The operand that stays where it is. */
  PlacedOperand placedOperand(CuboidPlan plan) {
    return placed(plan.chosen().strategy() == Strategy.RIGHT_IN_PLACE).orElseThrow();
  }

  private long blocksOfC() {
    return ((spec.m() + spec.blockRows() - 1) / spec.blockRows())
        * ((spec.n() + spec.blockCols() - 1) / spec.blockCols());
  }

  private ClusterLimits findLimits() {
    long batch = TileSparkConf.BATCH_SIZE.read(TileSparkConf.session());
    long panels = 2 * BATCHES * batch;
    int cores = Math.max(1, context.defaultParallelism());
    int executors =
        Math.max(
            1, context.statusTracker().getExecutorInfos().length - (context.isLocal() ? 0 : 1));
    int turns = TileSparkConf.CONCURRENT_TASKS.read(TileSparkConf.application(context.getConf()));
    int devices = devices();
    long tile =
        TileShare.bytes(
            TileSparkConf.MULTIPLY_TILE_SIZE.read(TileSparkConf.session()),
            batch,
            devices == 0 ? 0 : deviceBytes(),
            Math.min(turns, Math.max(1, cores / executors)));
    return new ClusterLimits(
        cores,
        executors,
        devices,
        // A batch of matrices is spread over tasks matrix by matrix; how many there are is not
        // known.
        spec.groups() > 0 ? 1 : cores,
        tile + panels,
        tile + panels,
        tile,
        broadcastBytes(),
        executors > 1 || devices != 1 ? 0 : sharedBytes(Math.min(turns, cores), tile, 2 * batch),
        ClusterLimits.Rates.DEFAULT);
  }

  /**
   * What tasks leave to panels that they share, of the one device of one executor; the most there
   * is if no executor has said how much it has.
   *
   * @param tasks at a time
   * @param tile of one, at most
   * @param panels of one
   */
  private long sharedBytes(int tasks, long tile, long panels) {
    long all = deviceBytes();
    if (all == 0) {
      return Long.MAX_VALUE;
    }
    long result = Bytes.product(Math.max(1, spec.m()), Math.max(1, spec.n()), spec.type().bytes());
    long held =
        Bytes.sum(Math.min(Bytes.product(tasks, tile), result), Bytes.product(tasks, panels));
    return Math.max(0, all / 4 * 3 - held);
  }

  /**
   * What may be broadcast without being asked for: the driver holds about three copies while it
   * collects and sends, every executor one or two, all in the Java heap.
   */
  private long broadcastBytes() {
    if (Math.min(Math.min(spec.m(), spec.k()), spec.n()) == 0) {
      return 0;
    }
    long driver = Runtime.getRuntime().maxMemory();
    long executor = context.isLocal() ? driver : (long) context.executorMemory() << 20;
    long collected = context.getConf().getSizeAsBytes("spark.driver.maxResultSize", "1g");
    return Math.min(
        TileSparkConf.MULTIPLY_BROADCAST_SIZE.read(TileSparkConf.session()),
        Math.min(
            Math.min(driver, executor) / HEAP_SHARE,
            collected == 0 ? Long.MAX_VALUE : collected / 2));
  }

  /** What tasks may hold of a device together; 0 if no executor has said. */
  private long deviceBytes() {
    long reported = ExecutorReports.current().map(ExecutorReports::deviceBytes).orElse(0L);
    return reported == 0 && context.isLocal() ? ExecutorRuntime.openDeviceBytes() : reported;
  }

  private int devices() {
    if (backend.requested() == Backend.CPU) {
      return 0;
    }
    if (context.isLocal()) {
      return DeviceProbe.run().deviceCount(); // 0 if none is available
    }
    return ExecutorReports.current().map(ExecutorReports::devices).orElse(0);
  }

  private MultiplyShape shape() {
    // An empty matrix is planned as if it had one element; it is one cuboid anyway.
    long m = Math.max(1, spec.m());
    long k = Math.max(1, spec.k());
    long n = Math.max(1, spec.n());
    // The tiles of a gram are mirrored: they are cut at the same rows and columns.
    boolean gram = spec.gram();
    boolean square = spec.blockRows() == spec.blockCols();
    MultiplyShape dense = MultiplyShape.dense(m, k, n, spec.type());
    return new MultiplyShape(
        m,
        k,
        n,
        spec.type(),
        dense.bytesA(),
        dense.bytesB(),
        spec.a().outer(),
        spec.a().inner(),
        spec.b().inner(),
        spec.b().outer(),
        makesWholeBlocks(false),
        makesWholeBlocks(true),
        gram && !square ? m : spec.blockRows(),
        gram && !square ? n : spec.blockCols());
  }

  /** Where an operand's blocks are already, if its partitions could be cuboids. */
  Optional<PlacedOperand> placed(boolean right) {
    if (placed == null) {
      placed =
          List.of(
              PlacedOperand.of(context, product, false),
              spec.gram() ? Optional.empty() : PlacedOperand.of(context, product, true));
    }
    return placed.get(right ? 1 : 0);
  }

  private List<Placed> placed() {
    List<Placed> all = new ArrayList<>();
    Optional<PlacedOperand> left = placed(false);
    Optional<PlacedOperand> right = placed(true);
    if (left.isPresent()
        && right.isPresent()
        && left.get().axis() == Axis.K
        && right.get().axis() == Axis.K
        && left.get().bands().equals(right.get().bands())
        && partitions(left.get()) == partitions(right.get())) {
      all.add(placed(left.get(), true, true));
    } else {
      left.ifPresent(operand -> all.add(placed(operand, true, false)));
      right.ifPresent(operand -> all.add(placed(operand, false, true)));
    }
    return all;
  }

  private Placed placed(PlacedOperand operand, boolean left, boolean right) {
    return new Placed(
        left,
        right,
        operand.axis(),
        operand.bands().ranges(),
        operand.bands().largest(),
        operand.axis() == Axis.K || onGrid(operand.right(), spec.side(operand.right()).outer()));
  }

  /** Cuboids that are asked for, where blocks are already, if they are there. */
  private Optional<Candidate> placedAs(MultiplyOptions.Strategy.Cuboid asked) {
    return placed().stream()
        .map(where -> CuboidPlanner.inPlace(shape(), limits, where))
        .filter(
            candidate ->
                candidate.isAllowed()
                    && candidate.p() == asked.p()
                    && candidate.q() == asked.q()
                    && candidate.r() == asked.r())
        .findFirst();
  }

  static int partitions(PlacedOperand operand) {
    return operand.partitioning().numPartitions();
  }

  /** True if the products of an operand's blocks with all of the other are blocks of C. */
  private boolean makesWholeBlocks(boolean right) {
    return product.watches()
        && spec.largerIsRight() == right
        && spec.side(right).spans()
        && onGrid(right, spec.side(right).outer());
  }

  /** True if parts of M or N that are multiples of a length are such of blocks of C. */
  private boolean onGrid(boolean right, long length) {
    long extent = right ? spec.n() : spec.m();
    return length >= extent || length % (right ? spec.blockCols() : spec.blockRows()) == 0;
  }

  private CuboidPlan cuboidPlan() {
    MultiplyOptions.Strategy strategy = spec.strategy();
    try {
      if (strategy instanceof MultiplyOptions.Strategy.Cuboid cuboid) {
        CuboidPlan asked =
            CuboidPlanner.forced(
                shape(), limits, Strategy.CUBOID, cuboid.p(), cuboid.q(), cuboid.r());
        return placedAs(cuboid)
            .map(inPlace -> new CuboidPlan(asked.shape(), inPlace, asked.rejected()))
            .orElse(asked);
      }
      boolean empty = Math.min(Math.min(spec.m(), spec.k()), spec.n()) == 0;
      if (strategy instanceof MultiplyOptions.Strategy.Broadcast && !empty) {
        return CuboidPlanner.forced(
            shape(),
            limits,
            spec.largerIsRight() ? Strategy.BROADCAST_LEFT : Strategy.BROADCAST_RIGHT,
            1,
            1,
            1);
      }
      return CuboidPlanner.plan(shape(), limits, placed());
    } catch (IllegalArgumentException e) {
      throw refused(e);
    }
  }

  private IllegalArgumentException refused(IllegalArgumentException e) {
    String advice =
        e instanceof CuboidPlanner.NoRoomException
            ? ". More parts of M and N need less memory each; a larger "
                + TileSparkConf.MULTIPLY_TILE_SIZE.name()
                + " or "
                + TileSparkConf.BATCH_SIZE.name()
                + " gives a task more"
            : "";
    return new IllegalArgumentException(spec.operator() + ": " + e.getMessage() + advice, e);
  }

  /**
   * The best cuts of a gram: rows and columns of C at the same places, P (P + 1) / 2 tiles, and A
   * is read by each task row and each task column once, {@code P |A|} in all.
   */
  private CuboidPlan gramPlan() {
    if (spec.strategy() instanceof MultiplyOptions.Strategy.Broadcast) {
      throw new IllegalArgumentException(
          spec.operator()
              + ": strategy is broadcast; a gram has one operand only, so expected auto or"
              + " cuboid(P,P,R)");
    }
    MultiplyShape shape = shape();
    if (spec.strategy() instanceof MultiplyOptions.Strategy.Cuboid cuboid) {
      if (cuboid.p() != cuboid.q()) {
        throw new IllegalArgumentException(
            spec.operator()
                + ": strategy is "
                + cuboid
                + "; a gram has the same cuts of rows and columns, so expected P = Q");
      }
      Optional<Candidate> inPlace =
          gramInPlace(shape).filter(c -> c.p() == cuboid.p() && c.r() == cuboid.r());
      if (inPlace.isPresent()) {
        return new CuboidPlan(shape, inPlace.get(), List.of());
      }
      try {
        return gramPlan(shape, cuboid.p(), cuboid.r(), List.of());
      } catch (IllegalArgumentException e) {
        throw refused(e);
      }
    }
    List<Candidate> candidates = new ArrayList<>();
    IllegalArgumentException refusal = null;
    for (int p = 1;
        p <= shape.m()
            && tiles(p) <= Integer.MAX_VALUE // tasks that Spark can count
            && (tiles(p) <= limits.usefulTasks() || candidates.isEmpty()); ) {
      for (int r = 1; r <= shape.k() && (r == 1 || tiles(p) * r <= limits.usefulTasks()); r++) {
        try {
          candidates.add(gramPlan(shape, p, r, List.of()).chosen());
        } catch (IllegalArgumentException e) {
          refusal = e;
        }
      }
      if (tiles(p) > limits.usefulTasks()) {
        p = (int) Math.max(p + 1, Math.min(2L * p, shape.m())); // only memory asks for so many
      } else {
        p++;
      }
    }
    gramInPlace(shape).ifPresent(candidates::add);
    if (candidates.isEmpty()) {
      throw refused(refusal);
    }
    candidates.sort(
        Comparator.<Candidate>comparingDouble(c -> c.cost().seconds())
            .thenComparingInt(c -> c.cost().tasks()));
    return new CuboidPlan(
        shape, candidates.get(0), candidates.subList(1, Math.min(candidates.size(), 1 + REJECTED)));
  }

  /** A gram of blocks that stay where they are: what looks like B is A too, and stays as well. */
  private Optional<Candidate> gramInPlace(MultiplyShape shape) {
    if (placed(false).isEmpty() || placed(false).get().axis() != Axis.K) {
      return Optional.empty();
    }
    Candidate inPlace =
        CuboidPlanner.inPlace(shape, limits, placed(placed(false).get(), true, true));
    Cost cost = inPlace.cost();
    Candidate gram =
        new Candidate(
            Strategy.LEFT_IN_PLACE,
            1,
            1,
            inPlace.r(),
            new Cost(
                0,
                0,
                cost.partialBytes(),
                0,
                cost.pcieBytes() == 0 ? 0 : shape.bytesA(), // goes there once
                cost.pcieBytes() == 0 ? 0 : cost.pcieBytes() - cost.uploadBytes() + shape.bytesA(),
                cost.flops(),
                cost.tasks(),
                cost.seconds()),
            "");
    return Optional.of(gram).filter(c -> inPlace.isAllowed());
  }

  private static long tiles(int p) {
    return p * (p + 1L) / 2;
  }

  private CuboidPlan gramPlan(MultiplyShape shape, int p, int r, List<Candidate> rejected) {
    Candidate full = CuboidPlanner.forced(shape, limits, Strategy.CUBOID, p, p, r).chosen();
    Cost cost = full.cost();
    long once = shape.bytesA();
    long read = cost.readBytes() / 2;
    int tasks = Math.toIntExact(tiles(p) * r);
    double share = tiles(p) / ((double) p * p);
    double busy = Math.min(tasks, limits.cores());
    ClusterLimits.Rates rates = limits.rates();
    boolean single = spec.type() == ElementType.FLOAT32;
    double flops = cost.flops() * share;
    double rate =
        limits.devices() > 0
            ? (single ? rates.deviceFloat() : rates.deviceDouble())
                * Math.min(limits.devices(), busy)
            : (single ? rates.coreFloat() : rates.coreDouble()) * busy;
    long up = shape.bytesA() <= limits.sharedBytes() ? shape.bytesA() : read;
    long pcie = limits.devices() > 0 ? up + (long) (shape.bytesC() * share) * r : 0;
    double seconds =
        (0.5 * once + 0.5 * read + cost.partialBytes()) / (rates.shuffle() * busy)
            + flops / rate
            + (limits.devices() > 0 ? pcie / (rates.pcie() * Math.min(limits.devices(), busy)) : 0)
            + rates.taskStart() * tasks;
    return new CuboidPlan(
        shape,
        new Candidate(
            full.strategy(),
            p,
            p,
            r,
            new Cost(
                once,
                read,
                cost.partialBytes(),
                0,
                limits.devices() > 0 ? up : 0,
                pcie,
                flops,
                tasks,
                seconds),
            ""),
        rejected);
  }
}
