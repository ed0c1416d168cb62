package org.tilespark.spark.multiply;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.SparkContext;
import org.tilespark.layout.AxisCuts;
import org.tilespark.layout.Cuts;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.exchange.BlockPartitioning;
import org.tilespark.spark.exchange.Exchange;
import org.tilespark.spark.multiply.cost.ClusterResources;
import org.tilespark.spark.multiply.cost.CuboidPlan;
import org.tilespark.spark.multiply.cost.CuboidPlan.Candidate;
import org.tilespark.spark.multiply.cost.CuboidPlan.Strategy;
import org.tilespark.spark.multiply.cost.CuboidPlanner;
import org.tilespark.spark.multiply.cost.GramPlanner;
import org.tilespark.spark.multiply.cost.MultiplyShape;
import org.tilespark.spark.multiply.cost.MultiplyShape.Axis;
import org.tilespark.spark.multiply.cost.MultiplyShape.InPlaceOperands;
import org.tilespark.spark.options.MultiplyOptions;
import org.tilespark.spark.runtime.BackendChoice;
import org.tilespark.spark.runtime.BackendPlanner;

/**
 * Chooses how a product is distributed over tasks: it passes known facts of the operands and the
 * cluster, and the user's options, to {@link CuboidPlanner}, or to {@link GramPlanner} for grams.
 */
final class MultiplyChoice {
  private final SparkContext context;
  private final MultiplyBlocks product;
  private final MultiplySpec spec;
  private final BackendChoice backend;
  private final ClusterResources resources;
  private List<Optional<PartitionedOperand>> partitioned; // A and B; null until asked for

  /** The choice for one product. */
  MultiplyChoice(SparkContext context, MultiplyBlocks product) {
    this.context = context;
    this.product = product;
    this.spec = product.spec();
    this.backend =
        BackendPlanner.chooseForProducts(
            TileSparkConf.BACKEND.read(TileSparkConf.session()), context);
    this.resources = new ClusterProbe(context, spec, backend).find();
  }

  /** The size of the cluster, the memory of one task, and the rates of moving and computing. */
  ClusterResources resources() {
    return resources;
  }

  /**
   * The plan of the product.
   *
   * @throws IllegalArgumentException if no way to cut the product into tasks, or not the requested
   *     one, fits the memory of a task, or the requested strategy is impossible; the message says
   *     why
   */
  CuboidPlan plan() {
    return spec.gram() ? gramPlan() : cuboidPlan();
  }

  /** The backend of the tasks. */
  BackendChoice backend() {
    return backend;
  }

  /** The expected partitioning of the blocks of C, if it can be known. */
  Optional<BlockPartitioning> partitioning() {
    try {
      CuboidPlan plan = plan();
      return plan.chosen().cost().traffic().partial() > 0
          ? Optional.of(SumBlocksExec.byPlaces(product.produced(), partitionsOfSums(plan)))
          : partitioningInPlace(plan);
    } catch (IllegalArgumentException e) {
      return Optional.empty(); // planning it fails later, and says why
    }
  }

  /**
   * Partitioning of C if cuboids are in the partitions of an operand's blocks; empty for other
   * strategies, or if it cannot be known.
   */
  Optional<BlockPartitioning> partitioningInPlace(CuboidPlan plan) {
    return plan.chosen().strategy().isInPlace() && spec.reduction().isEmpty()
        ? operandInPlace(plan).partitioningOfC(product)
        : Optional.empty();
  }

  /** Over how many partitions partial blocks of C are added. */
  int partitionsOfSums(CuboidPlan plan) {
    Cuts blocks =
        Cuts.of(
            AxisCuts.every(spec.blockRows(), spec.m()), AxisCuts.every(spec.blockCols(), spec.n()));
    return spec.groups() > 0 // how many matrices there are is not known
        ? Exchange.partitions()
        : Exchange.partitions(context, plan.chosen().cost().traffic().partial(), blocks);
  }

  /** The operand whose blocks stay in their partitions. */
  PartitionedOperand operandInPlace(CuboidPlan plan) {
    return partitioned(plan.chosen().strategy() == Strategy.RIGHT_IN_PLACE).orElseThrow();
  }

  private MultiplyShape shape() {
    // An empty matrix is planned as if it had one element; it is one cuboid anyway.
    long m = Math.max(1, spec.m());
    long k = Math.max(1, spec.k());
    long n = Math.max(1, spec.n());
    // The tiles of a gram are mirrored: they are cut at the same rows and columns.
    boolean gram = spec.gram();
    boolean reduced = spec.reduction().isDefined(); // C has no blocks then
    boolean square = spec.blockRows() == spec.blockCols();
    MultiplyShape dense = MultiplyShape.dense(m, k, n, spec.type());
    return new MultiplyShape(
        dense.extents(),
        spec.type(),
        operand(dense.a().bytes(), false),
        operand(dense.b().bytes(), true),
        reduced ? 1 : gram && !square ? m : spec.blockRows(),
        reduced ? 1 : gram && !square ? n : spec.blockCols(),
        reduced
            ? Optional.of(new MultiplyShape.Reduced(spec.reduction().get().candidateBytes()))
            : Optional.empty());
  }

  private MultiplyShape.Operand operand(long bytes, boolean right) {
    MultiplySpec.Side side = spec.side(right);
    return new MultiplyShape.Operand(bytes, side.outer(), side.inner(), makesWholeBlocks(right));
  }

  /** The partitioning of an operand's blocks, if its partitions could be cuboids. */
  Optional<PartitionedOperand> partitioned(boolean right) {
    if (partitioned == null) {
      partitioned =
          List.of(
              PartitionedOperand.of(context, product, false),
              spec.gram() ? Optional.empty() : PartitionedOperand.of(context, product, true));
    }
    return partitioned.get(right ? 1 : 0);
  }

  private List<InPlaceOperands> operandsInPlace() {
    List<InPlaceOperands> all = new ArrayList<>();
    Optional<PartitionedOperand> left = partitioned(false);
    Optional<PartitionedOperand> right = partitioned(true);
    if (left.isPresent()
        && right.isPresent()
        && left.get().axis() == Axis.K
        && right.get().axis() == Axis.K
        && left.get().bands().equals(right.get().bands())
        && left.get().partitioning().partitions() == right.get().partitioning().partitions()) {
      all.add(inPlace(left.get(), true, true));
    } else {
      left.ifPresent(operand -> all.add(inPlace(operand, true, false)));
      right.ifPresent(operand -> all.add(inPlace(operand, false, true)));
    }
    all.removeIf(where -> spec.reduction().isDefined() && where.axis() == Axis.K);
    return all;
  }

  private InPlaceOperands inPlace(PartitionedOperand operand, boolean left, boolean right) {
    return new InPlaceOperands(
        left,
        right,
        operand.axis(),
        operand.bands().ranges(),
        operand.bands().largest(),
        operand.axis() == Axis.K || onGrid(operand.right(), spec.side(operand.right()).outer()));
  }

  /**
   * The candidate in the partitions of an operand's blocks that has the requested P, Q and R; empty
   * if there is none.
   */
  private Optional<Candidate> inPlaceAs(MultiplyOptions.Strategy.Cuboid asked) {
    return operandsInPlace().stream()
        .map(where -> CuboidPlanner.inPlace(shape(), resources, where))
        .filter(
            candidate ->
                candidate.isAllowed()
                    && candidate.p() == asked.p()
                    && candidate.q() == asked.q()
                    && candidate.r() == asked.r())
        .findFirst();
  }

  /**
   * True if the products of an operand's blocks with the whole other operand are known to be whole
   * blocks of C, or can be reduced, and missing blocks of the operand are found.
   */
  private boolean makesWholeBlocks(boolean right) {
    MultiplySpec.Side side = spec.side(right);
    return product.isCovered()
        && spec.largerIsRight() == right
        && side.spans()
        && (spec.reduction().isDefined() || side.stated() && onGrid(right, side.outer()));
  }

  /** True if multiples of {@code length} along M or N are boundaries of C's blocks. */
  private boolean onGrid(boolean right, long length) {
    long extent = right ? spec.n() : spec.m();
    return length >= extent || length % (right ? spec.blockCols() : spec.blockRows()) == 0;
  }

  private CuboidPlan cuboidPlan() {
    MultiplyOptions.Strategy strategy = spec.strategy();
    try {
      if (strategy instanceof MultiplyOptions.Strategy.Cuboid cuboid) {
        if (spec.hasCommonSide()) {
          throw new IllegalArgumentException(
              ("strategy is %s, but %s has no grouping columns: it is broadcast to all matrices of"
                      + " the other side; expected auto or broadcast")
                  .formatted(cuboid, spec.b().common() ? "B" : "A"));
        }
        CuboidPlan asked =
            CuboidPlanner.forced(
                shape(), resources, Strategy.CUBOID, cuboid.p(), cuboid.q(), cuboid.r());
        return inPlaceAs(cuboid)
            .map(inPlace -> new CuboidPlan(asked.shape(), inPlace, asked.rejected()))
            .orElse(asked);
      }
      boolean empty = Math.min(Math.min(spec.m(), spec.k()), spec.n()) == 0;
      if ((strategy instanceof MultiplyOptions.Strategy.Broadcast || spec.hasCommonSide())
          && !empty) {
        return CuboidPlanner.forced(
            shape(),
            resources,
            spec.largerIsRight() ? Strategy.BROADCAST_LEFT : Strategy.BROADCAST_RIGHT,
            1,
            1,
            1);
      }
      return CuboidPlanner.plan(shape(), resources, operandsInPlace());
    } catch (IllegalArgumentException e) {
      throw refused(e);
    }
  }

  private IllegalArgumentException refused(IllegalArgumentException e) {
    String advice =
        e instanceof CuboidPlanner.NoRoomException
            ? (". More parts of M and N need less memory each; a larger %s or %s gives a"
                    + " task more")
                .formatted(TileSparkConf.MULTIPLY_TILE_SIZE.name(), TileSparkConf.BATCH_SIZE.name())
            : "";
    return new IllegalArgumentException(spec.operator() + ": " + e.getMessage() + advice, e);
  }

  private CuboidPlan gramPlan() {
    MultiplyOptions.Strategy strategy = spec.strategy();
    if (strategy instanceof MultiplyOptions.Strategy.Broadcast) {
      throw new IllegalArgumentException(
          spec.operator()
              + ": strategy is broadcast; a gram has one operand only, so expected auto or"
              + " cuboid(P,P,R)");
    }
    if (strategy instanceof MultiplyOptions.Strategy.Cuboid cuboid && cuboid.p() != cuboid.q()) {
      throw new IllegalArgumentException(
          ("%s: strategy is %s; a gram has the same cuts of rows and columns, so"
                  + " expected P = Q")
              .formatted(spec.operator(), cuboid));
    }
    GramPlanner planner =
        new GramPlanner(
            shape(),
            resources,
            partitioned(false)
                .filter(operand -> spec.reduction().isEmpty())
                .map(operand -> inPlace(operand, true, true)));
    try {
      return strategy instanceof MultiplyOptions.Strategy.Cuboid cuboid
          ? planner.forced(cuboid.p(), cuboid.r())
          : planner.plan();
    } catch (IllegalArgumentException e) {
      throw refused(e);
    }
  }
}
