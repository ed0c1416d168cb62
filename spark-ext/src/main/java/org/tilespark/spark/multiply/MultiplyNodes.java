package org.tilespark.spark.multiply;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.SparkPlan;
import org.tilespark.layout.AxisCuts;
import org.tilespark.layout.Cuts;
import org.tilespark.spark.block.Bytes;
import org.tilespark.spark.block.RowBytes;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.exchange.CutBlocks;
import org.tilespark.spark.exchange.CutSpec;
import org.tilespark.spark.exchange.Exchange;
import org.tilespark.spark.exchange.GatherRowsExec;
import org.tilespark.spark.exchange.PieceSizes;
import org.tilespark.spark.exchange.PieceUnionExec;
import org.tilespark.spark.exchange.PiecesInPlaceExec;
import org.tilespark.spark.multiply.cost.CuboidPlan;
import org.tilespark.spark.multiply.cost.CuboidPlan.Candidate;
import org.tilespark.spark.multiply.cost.CuboidPlan.Strategy;
import org.tilespark.spark.multiply.cost.MultiplyShape.Axis;
import org.tilespark.spark.multiply.neighbours.MergeNeighboursExec;
import org.tilespark.spark.multiply.neighbours.NeighbourRows;
import org.tilespark.spark.multiply.scores.Reduction;
import org.tilespark.spark.runtime.BackendChoice;

/**
 * Turns a product into physical nodes. Both operands are cut into pieces, and one shuffle collects
 * the pieces of each part of an operand, sorted along K. Tasks read the parts of their cuboid and
 * multiply them. If K is cut, a second shuffle collects partial blocks, which are added.
 */
public final class MultiplyNodes {
  /** Least extent of panels along K, if memory allows it: for less, transfers dominate. */
  private static final long GOOD_DEPTH = 256;

  private final SparkContext context;
  private final Function<LogicalPlan, SparkPlan> planLater;
  private final Function<CutBlocks, SparkPlan> cutting;
  private final MultiplyBlocks product;
  private final MultiplySpec spec;
  private final BackendChoice backend;
  private final MultiplyChoice choice;

  /**
   * The planner of one product.
   *
   * @param planLater plans the operands
   * @param cutting plans the cut of operands into pieces
   */
  public MultiplyNodes(
      SparkContext context,
      MultiplyBlocks product,
      Function<LogicalPlan, SparkPlan> planLater,
      Function<CutBlocks, SparkPlan> cutting) {
    this.context = context;
    this.planLater = planLater;
    this.cutting = cutting;
    this.product = product;
    this.spec = product.spec();
    this.choice = new MultiplyChoice(context, product);
    this.backend = choice.backend();
  }

  /** The physical plan. */
  public SparkPlan plan() {
    CuboidPlan plan = choice.plan();
    if (plan.chosen().strategy().isBroadcast()) {
      return broadcast(plan);
    }
    boolean inPlace = plan.chosen().strategy().isInPlace();
    Cuboids cuboids = inPlace ? cuboidsInPlace(plan) : cuboids(plan);
    List<Attribute> groups = product.groups();
    List<SparkPlan> pieces = inPlace ? new ArrayList<>() : cachedPieces(cuboids, groups);
    Prediction prediction = prediction(plan, cuboids, !pieces.isEmpty());
    if (inPlace) {
      for (int i = 0; i < product.operands().size(); i++) {
        pieces.add(kept(plan.chosen().strategy(), cuboids, i, groups));
      }
    } else if (pieces.isEmpty()) {
      pieces.add(shuffledPieces(cuboids, groups));
    }
    boolean partial = plan.chosen().cost().traffic().partial() > 0;
    boolean merged = spec.isMerged(cuboids.q() > 1);
    List<Attribute> partials =
        merged
            ? NeighbourRows.candidates(groups)
            : partial ? PieceColumns.partials(spec.type(), groups) : product.produced();
    SparkPlan tiles =
        new MultiplyPanelsExec(
            // The epilogue waits for whole sums. Without it, products that differ in the epilogue
            // alone have equal plans of partial sums, which Spark computes once.
            partial ? spec.withoutEpilogue() : spec,
            cuboids,
            matrices(),
            prediction,
            backend,
            ScalaInterop.option(
                choice.partitioningInPlace(plan).map(by -> by.bound(product.produced()))),
            ScalaInterop.seq(partials),
            ScalaInterop.seq(pieces));
    return merged
        ? merged(tiles, cuboids.q(), partials)
        : partial ? summed(tiles, plan, partials) : tiles;
  }

  /** The candidates of all tasks, shuffled by query and merged. */
  private SparkPlan merged(SparkPlan tiles, int parts, List<Attribute> candidates) {
    long bytes = candidateBytes(parts);
    int partitions =
        spec.groups() > 0 // how many matrices there are is not known
            ? Exchange.partitions()
            : Exchange.partitions(context, bytes, Cuts.of(every(1, spec.m()), every(1, 1)));
    return new MergeNeighboursExec(
        (Reduction.Nearest) spec.reduction().get(),
        ScalaInterop.seq(candidates),
        ScalaInterop.seq(product.produced()),
        Exchange.shuffled(tiles, NeighbourRows.key(candidates), partitions));
  }

  /** Bytes of candidates, if the columns of C are cut into {@code parts} parts. */
  private long candidateBytes(int parts) {
    long row = row(NeighbourRows.candidates(List.of())).withoutValues();
    return Bytes.product(parts, spec.m(), Bytes.sum(row, spec.reduction().get().candidateBytes()));
  }

  /**
   * The pieces of each operand, read in place from cached blocks; empty if one operand is not
   * cached, if a single task gathers all pieces, or if there are several matrices, since both
   * operands' pieces are merged only by their places.
   */
  private List<SparkPlan> cachedPieces(Cuboids cuboids, List<Attribute> groups) {
    List<Attribute> pieces = PieceColumns.pieces(spec.type(), groups);
    List<SparkPlan> all = new ArrayList<>();
    PiecesInPlaceExec.Readers readers =
        new PiecesInPlaceExec.Readers(
            PieceColumns.pieceKey(pieces),
            cuboids.shufflePartitions(),
            Math.max(cuboids.count(), cuboids.shufflePartitions()),
            Attributes.ascending(PieceColumns.pieceOrder(pieces)));
    if (groups.isEmpty() && !isOneTask(cuboids)) {
      for (int i = 0; i < product.operands().size(); i++) {
        CutBlocks cut = cutOf(PieceColumns.cut(spec, cuboids, i == 1), i, pieces);
        PiecesInPlaceExec.of(context, cut, readers, planLater).ifPresent(all::add);
      }
    }
    return all.size() == product.operands().size() ? all : new ArrayList<>();
  }

  /** The pieces of both operands, shuffled by the parts or cuboids to which they belong. */
  private SparkPlan shuffledPieces(Cuboids cuboids, List<Attribute> groups) {
    List<Attribute> pieces = PieceColumns.pieces(spec.type(), groups);
    List<SparkPlan> cut = new ArrayList<>();
    for (int i = 0; i < product.operands().size(); i++) {
      cut.add(cut(PieceColumns.cut(spec, cuboids, i == 1), i, pieces));
    }
    SparkPlan together = cut.size() == 1 ? cut.get(0) : new PieceUnionExec(cut.get(0), cut.get(1));
    return isOneTask(cuboids)
        ? GatherRowsExec.intoOneTask(together)
        : Exchange.shuffled(together, PieceColumns.pieceKey(pieces), cuboids.shufflePartitions());
  }

  /**
   * True if one task multiplies, and the operands are so small that it reads all pieces before an
   * exchange would start.
   */
  private boolean isOneTask(Cuboids cuboids) {
    long bytes = pieceBytes(cuboids, false);
    return cuboids.count() == 1
        && spec.groups() == 0
        && Exchange.isOneTask(
            spec.gram() ? bytes : Bytes.sum(bytes, pieceBytes(cuboids, true)), product.operands());
  }

  /** The pieces of one operand, which stay in their partitions if the strategy says so. */
  private SparkPlan kept(Strategy strategy, Cuboids cuboids, int operand, List<Attribute> groups) {
    List<Attribute> pieces = PieceColumns.pieces(spec.type(), groups);
    boolean right = operand == 1;
    CutSpec cut = PieceColumns.cut(spec, cuboids, right);
    boolean stays = strategy != (right ? Strategy.LEFT_IN_PLACE : Strategy.RIGHT_IN_PLACE);
    if (stays) {
      var partitioning = choice.partitioned(right).orElseThrow().partitioning();
      cut = cut.with(partitioning.bound(product.inputs(operand)));
    }
    return cut(cut, operand, pieces);
  }

  /** The blocks of C: sums of partial blocks that a shuffle brings together. */
  private SparkPlan summed(SparkPlan tiles, CuboidPlan plan, List<Attribute> partials) {
    return new SumBlocksExec(
        spec,
        plan.chosen().strategy(),
        ScalaInterop.seq(partials),
        ScalaInterop.seq(product.produced()),
        Exchange.shuffled(tiles, PieceColumns.partialKey(partials), choice.partitionsOfSums(plan)));
  }

  /**
   * The plan that broadcasts one operand and keeps the blocks of the other in place; its result is
   * blocks of C, or partial ones.
   */
  private SparkPlan broadcast(CuboidPlan plan) {
    Strategy strategy = plan.chosen().strategy();
    boolean smallIsRight = strategy == Strategy.BROADCAST_RIGHT;
    int large = smallIsRight ? 0 : 1;
    int small = 1 - large;
    MultiplySpec.Side side = spec.side(!smallIsRight);
    // Extent of C along the broadcast operand's axis
    long other = smallIsRight ? spec.n() : spec.m();
    long grain = smallIsRight ? spec.blockRows() : spec.blockCols();
    long most = Math.max(1, choice.resources().tileBytes() / (other * spec.type().bytes()));
    long outer = most < grain ? most : most / grain * grain;
    List<Attribute> groups = product.groups();
    boolean merged = spec.isMerged(!smallIsRight);
    boolean partial = spec.reduction().isEmpty() && plan.chosen().cost().traffic().partial() > 0;
    List<Attribute> produced =
        merged
            ? NeighbourRows.candidates(groups)
            : partial ? PieceColumns.partials(spec.type(), groups) : product.produced();
    SparkPlan blocks =
        new MultiplyBroadcastExec(
            partial ? spec.withoutEpilogue() : spec,
            depth(Math.min(outer, side.outer()), other, Math.min(side.inner(), spec.k())),
            outer,
            matrices(),
            broadcastPrediction(plan, partial),
            backend,
            smallIsRight,
            ScalaInterop.seq(product.inputs(large)),
            ScalaInterop.seq(produced),
            planLater.apply(product.operands().get(large)),
            cut(
                PieceColumns.cut(spec, Cuboids.uncut(spec.extents()), smallIsRight),
                small,
                PieceColumns.pieces(
                    spec.type(), spec.side(smallIsRight).common() ? List.of() : groups)),
            partial || !product.watches()
                ? ScalaInterop.emptySeq()
                : ScalaInterop.<SparkPlan>seq(
                    new CheckPlacesExec(
                        spec,
                        !smallIsRight,
                        ScalaInterop.seq(product.placeColumns()),
                        ScalaInterop.seq(PieceColumns.ranges(groups)),
                        planLater.apply(product.places()))));
    return merged
        ? merged(blocks, plan.chosen().cost().tasks(), produced)
        : partial ? summed(blocks, plan, produced) : blocks;
  }

  /** The plan that cuts an operand's blocks into pieces. */
  private SparkPlan cut(CutSpec cut, int operand, List<Attribute> pieces) {
    return cutting.apply(cutOf(cut, operand, pieces));
  }

  private CutBlocks cutOf(CutSpec cut, int operand, List<Attribute> pieces) {
    int keys = PieceColumns.keys(pieces).size();
    return new CutBlocks(
        cut,
        ScalaInterop.seq(product.inputs(operand)),
        ScalaInterop.seq(pieces.subList(0, keys)),
        ScalaInterop.seq(pieces.subList(keys, pieces.size())),
        product.operands().get(operand));
  }

  private Cuboids cuboidsInPlace(CuboidPlan plan) {
    PartitionedOperand operand = choice.operandInPlace(plan);
    Axis axis = operand.axis();
    long largest = operand.bands().largest();
    return Cuboids.inPlace(
        spec.extents(),
        axis,
        operand.bands(),
        depth(
            axis == Axis.M ? largest : spec.m(),
            axis == Axis.N ? largest : spec.n(),
            axis == Axis.K ? spec.side(operand.right()).inner() : spec.k()),
        spec.gram(),
        operand.partitioning().partitions());
  }

  // ---- the cuts

  private Cuboids cuboids(CuboidPlan plan) {
    long[] cutsM = boundaries(plan.cuts().m(), spec.m());
    long[] cutsK = boundaries(plan.cuts().k(), spec.k());
    long[] cutsN = spec.gram() ? cutsM : boundaries(plan.cuts().n(), spec.n());
    Cuboids cuboids = cuboids(cutsM, cutsK, cutsN, 0);
    if (spec.groups() > 0) {
      int partitions = Exchange.partitions(context, product.operands());
      return cuboids(cutsM, cutsK, cutsN, Math.max(cuboids.count(), partitions));
    }
    return isOneTask(cuboids) ? cuboids(cutsM, cutsK, cutsN, 1) : cuboids;
  }

  private Cuboids cuboids(long[] cutsM, long[] cutsK, long[] cutsN, int partitions) {
    return new Cuboids(
        cutsM,
        cutsK,
        cutsN,
        depth(largest(cutsM), largest(cutsN), largest(cutsK)),
        spec.gram(),
        partitions);
  }

  private static long[] boundaries(AxisCuts cuts, long extent) {
    return extent == 0 ? new long[] {0, 0} : cuts.places();
  }

  private static long largest(long[] cuts) {
    long most = 0;
    for (int i = 1; i < cuts.length; i++) {
      most = Math.max(most, cuts[i] - cuts[i - 1]);
    }
    return most;
  }

  /**
   * The extent of panels along K: that of whole blocks, or of equal parts of a block, with which a
   * pair of panels has about the bytes of a batch ({@link TileSparkConf#BATCH_SIZE}).
   */
  private long depth(long m, long n, long k) {
    if (spec.reduction().isDefined()) {
      return Math.max(1, k);
    }
    // Bytes of both panels for one step of K
    long slice = Math.max(1, (m + n) * spec.type().bytes());
    long batch = TileSparkConf.BATCH_SIZE.read(TileSparkConf.session());
    long most = Math.max(batch / slice, Math.min(GOOD_DEPTH, ClusterProbe.BATCHES * batch / slice));
    most = Math.max(1, Math.min(most, Math.max(1, k)));
    long block = Math.max(1, Math.min(k, Math.max(spec.a().inner(), spec.b().inner())));
    if (most >= block) {
      return most == k ? most : most / block * block;
    }
    long pieces = (block + most - 1) / most;
    return (block + pieces - 1) / pieces;
  }

  /**
   * Number of matrices that a task multiplies at once: their operands and results together have
   * about the bytes of a batch ({@link TileSparkConf#BATCH_SIZE}).
   */
  private long matrices() {
    if (spec.groups() == 0 || spec.reduction().isDefined()) {
      return 1;
    }
    long ofA = spec.a().common() ? 0 : Bytes.product(spec.m(), spec.k());
    long ofB = spec.gram() || spec.b().common() ? 0 : Bytes.product(spec.k(), spec.n());
    long elements = Bytes.sum(ofA, Bytes.sum(ofB, Bytes.product(spec.m(), spec.n())));
    long batch = TileSparkConf.BATCH_SIZE.read(TileSparkConf.session());
    return Math.max(1, batch / Math.max(1, Bytes.product(elements, spec.type().bytes())));
  }

  // ---- the prediction

  private Prediction prediction(CuboidPlan plan, Cuboids cuboids, boolean areRead) {
    Strategy strategy = plan.chosen().strategy();
    boolean isGathered = areRead || strategy == Strategy.CUBOID && isOneTask(cuboids);
    long operands = 0;
    if (!isGathered && (strategy == Strategy.CUBOID || strategy == Strategy.RIGHT_IN_PLACE)) {
      operands = Bytes.product(cuboids.isShared() ? 1 : cuboids.q(), pieceBytes(cuboids, false));
    }
    if (!isGathered
        && !spec.gram()
        && (strategy == Strategy.CUBOID || strategy == Strategy.LEFT_IN_PLACE)) {
      operands =
          Bytes.sum(
              operands,
              Bytes.product(cuboids.isShared() ? 1 : cuboids.p(), pieceBytes(cuboids, true)));
    }
    long partials = 0;
    if (spec.isMerged(cuboids.q() > 1)) {
      partials = candidateBytes(cuboids.q());
    } else if (plan.chosen().cost().traffic().partial() > 0) {
      partials =
          Bytes.product(
              cuboids.r(),
              bytes(
                  Cuts.of(every(spec.blockRows(), spec.m()), every(spec.blockCols(), spec.n())),
                  Cuts.of(cuboids.axisM(), cuboids.axisN()),
                  partialRow()));
    }
    return prediction(plan, operands, partials, 0);
  }

  private Prediction broadcastPrediction(CuboidPlan plan, boolean partial) {
    boolean smallIsRight = plan.chosen().strategy() == Strategy.BROADCAST_RIGHT;
    long partials = spec.isMerged(!smallIsRight) ? candidateBytes(plan.chosen().cost().tasks()) : 0;
    if (partial) {
      MultiplySpec.Side large = spec.side(!smallIsRight);
      Cuts products =
          smallIsRight
              ? Cuts.of(every(large.outer(), spec.m()), every(spec.n(), spec.n()))
              : Cuts.of(every(spec.m(), spec.m()), every(large.outer(), spec.n()));
      Cuts blocks = Cuts.of(every(spec.blockRows(), spec.m()), every(spec.blockCols(), spec.n()));
      partials =
          Bytes.sum(
              Bytes.product(
                  every(large.inner(), spec.k()).parts(), bytes(products, blocks, partialRow())),
              // A row without values marks each block of C.
              Bytes.product(blocks.cells(), partialRow().withoutValues()));
    }
    return prediction(plan, 0, partials, pieceBytes(Cuboids.uncut(spec.extents()), smallIsRight));
  }

  private Prediction prediction(CuboidPlan plan, long operands, long partials, long broadcast) {
    return new Prediction(
        plan.chosen() + (spec.groups() > 0 ? " for each matrix" : ""),
        plan.rejected().stream().map(Candidate::toString).toList(),
        operands,
        partials,
        broadcast,
        plan.chosen().cost().traffic().upload());
  }

  /** Bytes of the rows of an operand's pieces, each counted once. */
  private long pieceBytes(Cuboids cuboids, boolean right) {
    AxisCuts outer = every(spec.side(right).outer(), right ? spec.n() : spec.m());
    AxisCuts inner = every(spec.side(right).inner(), spec.k());
    return bytes(
        Cuts.of(outer, inner),
        Cuts.of(right ? cuboids.axisN() : cuboids.axisM(), cuboids.panels()),
        row(PieceColumns.pieces(spec.type(), List.of())));
  }

  private RowBytes partialRow() {
    return row(PieceColumns.partials(spec.type(), List.of()));
  }

  private RowBytes row(List<Attribute> columns) {
    return new RowBytes(columns.size() + spec.groups(), 1, spec.type().bytes());
  }

  private static long bytes(Cuts blocks, Cuts cuts, RowBytes row) {
    return new PieceSizes(blocks, cuts).sum(row);
  }

  private static AxisCuts every(long block, long extent) {
    return AxisCuts.every(Math.max(1, block), extent);
  }
}
