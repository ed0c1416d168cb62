package org.tilespark.spark.planner;

import java.util.List;
import java.util.Optional;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import org.tilespark.spark.TileSparkConf;
import org.tilespark.spark.exec.AssembleBlocksExec;
import org.tilespark.spark.exec.BlockStageExec;
import org.tilespark.spark.exec.CutBlocksExec;
import org.tilespark.spark.exec.MarkCellsExec;
import org.tilespark.spark.exec.MultiplyPointwiseExec;
import org.tilespark.spark.interop.ScalaInterop;
import org.tilespark.spark.plans.AssembleBlocks;
import org.tilespark.spark.plans.CutBlocks;
import org.tilespark.spark.plans.FourierBlocks;
import org.tilespark.spark.plans.MarkCells;
import org.tilespark.spark.plans.MultiplyBlocks;
import org.tilespark.spark.plans.MultiplyPointwise;
import org.tilespark.spark.plans.PermuteBlocks;
import scala.collection.immutable.Seq;

/**
 * The strategy that turns our logical nodes into physical ones: one stage for all operators that
 * follow each other block by block, and what {@link ProductPlanner} makes of a product.
 */
public final class PlanBlocks extends SparkStrategy {
  private final SparkContext context;

  /** The strategy of one session. */
  public PlanBlocks(SparkSession session) {
    this.context = session.sparkContext();
  }

  @Override
  public Seq<SparkPlan> apply(LogicalPlan plan) {
    if (plan instanceof MultiplyBlocks product) {
      return ScalaInterop.<SparkPlan>seq(
          new ProductPlanner(context, product).plan(this::planLater));
    }
    if (plan instanceof FourierBlocks fourier) {
      FourierStage stage = FourierStage.endingIn(fourier);
      return ScalaInterop.<SparkPlan>seq(
          stage.exec(
              fourier.spec().out(),
              List.of(),
              ScalaInterop.list(fourier.produced()),
              null,
              fourierBackend(),
              TileSparkConf.BATCH_SIZE.read(TileSparkConf.session()),
              planLater(stage.child())));
    }
    if (plan instanceof CutBlocks cut && FourierStage.below(cut).isPresent()) {
      FourierBlocks fourier = FourierStage.below(cut).get();
      FourierStage stage = FourierStage.endingIn(fourier);
      return ScalaInterop.<SparkPlan>seq(
          stage.exec(
              fourier.spec().out(),
              ScalaInterop.list(cut.keys()),
              ScalaInterop.list(cut.produced()),
              cut.spec(),
              fourierBackend(),
              TileSparkConf.BATCH_SIZE.read(TileSparkConf.session()),
              planLater(stage.child())));
    }
    if (plan instanceof MultiplyPointwise product) {
      return ScalaInterop.<SparkPlan>seq(
          new MultiplyPointwiseExec(
              product.spec(),
              product.leftInputs(),
              product.rightInputs(),
              product.produced(),
              planLater(product.left()),
              planLater(product.right())));
    }
    if (plan instanceof CutBlocks cut) {
      return ScalaInterop.<SparkPlan>seq(
          new CutBlocksExec(
              cut.spec(), cut.inputs(), cut.keys(), cut.produced(), planLater(cut.child())));
    }
    if (plan instanceof MarkCells mark) {
      return ScalaInterop.<SparkPlan>seq(
          new MarkCellsExec(mark.spec(), mark.inputs(), mark.produced(), planLater(mark.child())));
    }
    if (plan instanceof AssembleBlocks assemble) {
      return ScalaInterop.<SparkPlan>seq(
          new AssembleBlocksExec(
              assemble.spec(),
              assemble.inputs(),
              assemble.produced(),
              planLater(assemble.child())));
    }
    if (!(plan instanceof PermuteBlocks permute)) {
      return ScalaInterop.emptySeq();
    }
    Optional<FourierStage> transform = FourierStage.endingIn(permute);
    if (transform.isPresent()) {
      return ScalaInterop.<SparkPlan>seq(
          transform
              .get()
              .exec(
                  permute.columns().blocks(),
                  List.of(),
                  permute.columns().produced(),
                  null,
                  fourierBackend(),
                  TileSparkConf.BATCH_SIZE.read(TileSparkConf.session()),
                  planLater(transform.get().child())));
    }
    BlockChain chain = BlockChain.endingIn(permute);
    return ScalaInterop.<SparkPlan>seq(
        new BlockStageExec(
            ScalaInterop.seq(chain.operators()),
            ScalaInterop.seq(chain.inputs()),
            ScalaInterop.seq(chain.produced()),
            backend(),
            TileSparkConf.BATCH_SIZE.read(TileSparkConf.session()),
            planLater(chain.child())));
  }

  private BackendChoice backend() {
    return BackendPlanner.choose(TileSparkConf.BACKEND.read(TileSparkConf.session()), context);
  }

  private BackendChoice fourierBackend() {
    return BackendPlanner.chooseForTransforms(
        TileSparkConf.BACKEND.read(TileSparkConf.session()),
        TileSparkConf.LIBRARY_PATH.read(TileSparkConf.application(context.getConf())),
        context);
  }
}
