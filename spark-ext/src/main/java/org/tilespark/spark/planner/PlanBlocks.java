package org.tilespark.spark.planner;

import org.apache.spark.SparkContext;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import org.tilespark.spark.TileSparkConf;
import org.tilespark.spark.exec.PermuteBlocksExec;
import org.tilespark.spark.interop.ScalaInterop;
import org.tilespark.spark.plans.PermuteBlocks;
import scala.collection.immutable.Seq;

/** The strategy that turns our logical nodes into physical ones. */
public final class PlanBlocks extends SparkStrategy {
  private final SparkContext context;

  /** The strategy of one session. */
  public PlanBlocks(SparkSession session) {
    this.context = session.sparkContext();
  }

  @Override
  public Seq<SparkPlan> apply(LogicalPlan plan) {
    if (!(plan instanceof PermuteBlocks permute)) {
      return ScalaInterop.emptySeq();
    }
    return ScalaInterop.<SparkPlan>seq(
        new PermuteBlocksExec(
            permute.kind(),
            permute.permutation(),
            permute.extents(),
            permute.inputs(),
            permute.produced(),
            BackendPlanner.choose(TileSparkConf.BACKEND.read(TileSparkConf.session()), context),
            TileSparkConf.BATCH_SIZE.read(TileSparkConf.session()),
            planLater(permute.child())));
  }
}
