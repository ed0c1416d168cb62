package org.tilespark.spark;

import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import org.tilespark.arrow.blocks.ArrayProgram;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.catalyst.UncountedRows;
import org.tilespark.spark.conf.Backend;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.error.ErrorBoundary;
import org.tilespark.spark.exchange.AssembleBlocks;
import org.tilespark.spark.exchange.AssembleSpec;
import org.tilespark.spark.exchange.CheckedBlocks;
import org.tilespark.spark.exchange.CheckedBlocksExec;
import org.tilespark.spark.exchange.CutBlocks;
import org.tilespark.spark.exchange.Exchange;
import org.tilespark.spark.exchange.MarkCells;
import org.tilespark.spark.exchange.MarkCellsExec;
import org.tilespark.spark.exchange.Meeting;
import org.tilespark.spark.exchange.PieceUnion;
import org.tilespark.spark.exchange.PieceUnionExec;
import org.tilespark.spark.multiply.MultiplyBlocks;
import org.tilespark.spark.multiply.MultiplyNodes;
import org.tilespark.spark.nearest.LeftToSpark;
import org.tilespark.spark.nearest.LeftToSparkExec;
import org.tilespark.spark.nearest.NearestExec;
import org.tilespark.spark.nearest.NearestRows;
import org.tilespark.spark.runtime.BackendChoice;
import org.tilespark.spark.runtime.BackendPlanner;
import org.tilespark.spark.stage.BlockStage;
import org.tilespark.spark.stage.ProgramBlocks;
import org.tilespark.spark.vectors.GatherVectors;
import org.tilespark.spark.vectors.GatherVectorsExec;
import org.tilespark.spark.vectors.SpreadBlocks;
import org.tilespark.spark.vectors.SpreadBlocksExec;
import scala.collection.immutable.Seq;

/**
 * The strategy that turns our logical nodes into physical ones: one stage for consecutive operators
 * that work block by block, and the nodes of {@link MultiplyNodes} for a product.
 */
public final class PlanBlocks extends SparkStrategy {
  private final SparkContext context;

  /** The strategy for one session. */
  public PlanBlocks(SparkSession session) {
    this.context = session.sparkContext();
  }

  @Override
  public Seq<SparkPlan> apply(LogicalPlan plan) {
    SparkPlan node = ErrorBoundary.PLANNING.call(() -> physical(plan));
    return node == null ? ScalaInterop.emptySeq() : ScalaInterop.<SparkPlan>seq(node);
  }

  /** The physical node of a plan; null if the plan is not one of our nodes. */
  private SparkPlan physical(LogicalPlan plan) {
    if (plan instanceof MultiplyBlocks product) {
      return new MultiplyNodes(context, product, this::planLater, this::pieces).plan();
    }
    if (plan instanceof ProgramBlocks last) {
      return stage(BlockStage.endingIn(last), last.spec().out(), last.produced(), Optional.empty());
    }
    if (plan instanceof CutBlocks cut) {
      return pieces(cut);
    }
    if (plan instanceof AssembleBlocks last) {
      return stage(BlockStage.endingIn(last), last.blocks(), last.produced(), Optional.empty());
    }
    if (plan instanceof MarkCells mark) {
      return new MarkCellsExec(
          mark.spec(), mark.inputs(), mark.produced(), planLater(mark.child()));
    }
    if (plan instanceof PieceUnion union) {
      List<LogicalPlan> children = ScalaInterop.list(union.children());
      return new PieceUnionExec(planLater(children.get(0)), planLater(children.get(1)));
    }
    if (plan instanceof CheckedBlocks checked) {
      return new CheckedBlocksExec(
          checked.grid(),
          checked.places(),
          checked.found(),
          planLater(checked.blocks()),
          ScalaInterop.seq(
              ScalaInterop.<LogicalPlan>list(checked.checks()).stream()
                  .map(this::planLater)
                  .toList()));
    }
    if (plan instanceof GatherVectors gather) {
      gather.requireRepeatable();
      return new GatherVectorsExec(
          gather.spec(),
          gather.inputs(),
          gather.produced(),
          planLater(gather.child()),
          ScalaInterop.seq(
              ScalaInterop.<LogicalPlan>list(gather.counted()).stream()
                  .map(this::planLater)
                  .toList()));
    }
    if (plan instanceof NearestRows join) {
      return NearestExec.of(
          join,
          BackendPlanner.chooseForProducts(
              TileSparkConf.BACKEND.read(TileSparkConf.session()), context),
          context.defaultParallelism(),
          this::planLater);
    }
    if (plan instanceof UncountedRows rows) {
      return planLater(rows.child());
    }
    if (plan instanceof LeftToSpark join) {
      return new LeftToSparkExec(join.reason(), planLater(join.child()));
    }
    if (plan instanceof SpreadBlocks spread) {
      return new SpreadBlocksExec(
          spread.spec(), spread.inputs(), spread.produced(), planLater(spread.child()));
    }
    return null;
  }

  /**
   * The stage that cuts blocks into pieces, together with the operators that produce the blocks if
   * one stage can run both.
   */
  private SparkPlan pieces(CutBlocks cut) {
    return stage(BlockStage.endingIn(cut), cut.blocks(), cut.produced(), Optional.of(cut));
  }

  /**
   * A stage of programs on blocks.
   *
   * @param out positions of the block columns in {@code produced}
   * @param produced output columns of the stage without the keys of pieces
   * @param cut cut of the resulting blocks into pieces; empty if they stay blocks
   */
  private SparkPlan stage(
      BlockStage stage, BlockSchema out, Seq<Attribute> produced, Optional<CutBlocks> cut) {
    Optional<Meeting> meeting = stage.meeting(context, out);
    List<SparkPlan> children =
        IntStream.range(0, stage.children().size())
            .mapToObj(
                i ->
                    meeting
                        .map(met -> met.rows(i, this::planLater))
                        .orElseGet(() -> planned(stage, i)))
            .toList();
    return stage.exec(
        out,
        produced,
        cut,
        backend(stage, cut.isPresent()),
        TileSparkConf.BATCH_SIZE.read(TileSparkConf.session()),
        meeting.map(Meeting::reason),
        children);
  }

  private SparkPlan planned(BlockStage stage, int branch) {
    LogicalPlan child = stage.children().get(branch);
    return stage
        .assembled(branch)
        .map(spec -> pieces(stage, branch, spec))
        .orElseGet(() -> planLater(child));
  }

  /** The plan that gives the pieces of blocks; those of a small array are gathered for one task. */
  private SparkPlan pieces(BlockStage stage, int branch, AssembleSpec spec) {
    LogicalPlan plan = stage.children().get(branch);
    return Exchange.isOneTask(plan, spec)
        ? Exchange.intoOneTask(plan, this::planLater)
        : stage.piecesInPlace(context, this::planLater).orElseGet(() -> planLater(plan));
  }

  private BackendChoice backend(BlockStage stage, boolean isCut) {
    Backend requested = TileSparkConf.BACKEND.read(TileSparkConf.session());
    if (stage.computesNothing() && (isCut || stage.isOfPieces())) {
      return BackendPlanner.forMoves(requested);
    }
    ArrayProgram program = stage.program();
    if (program.isSelection()) {
      return BackendPlanner.chooseForSelection(requested, context);
    }
    BackendChoice choice =
        program.needsTransforms()
            ? BackendPlanner.chooseForTransforms(
                requested,
                TileSparkConf.LIBRARY_PATH.read(TileSparkConf.application(context.getConf())),
                context)
            : BackendPlanner.choose(requested, context);
    return program.needsTransforms() && program.isBatched()
        ? choice
        : BackendPlanner.unlessSmall(choice, stage.arrayBytes(), context);
  }
}
