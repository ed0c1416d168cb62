package org.tilespark.spark.rows;

import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.execution.ColumnarRule;
import org.apache.spark.sql.execution.ColumnarToRowExec;
import org.apache.spark.sql.execution.ColumnarToRowTransition;
import org.apache.spark.sql.execution.RowToColumnarExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.exchange.CutBlocksExec;
import org.tilespark.spark.fourier.FourierBlocksExec;
import org.tilespark.spark.multiply.MultiplyBroadcastExec;
import org.tilespark.spark.stage.BlockStageExec;

/**
 * Replaces Spark's transitions between rows and columns next to our nodes, which go element by
 * element: below, our nodes read rows themselves; above, {@link BlockBatchesToRowsExec} copies each
 * array at once.
 */
public final class BulkTransitions extends ColumnarRule {
  /** A scan whose batches hold our Arrow lists. */
  public interface BlockScan extends Scan {}

  @Override
  public Rule<SparkPlan> postColumnarTransitions() {
    return new Replace();
  }

  private static final class Replace extends Rule<SparkPlan> {
    @Override
    public SparkPlan apply(SparkPlan plan) {
      return plan.transformUp(ScalaInterop.partialFunction(Replace::replace));
    }

    private static SparkPlan replace(SparkPlan node) {
      if (node instanceof BlockStageExec stage
          && stage.child() instanceof RowToColumnarExec transition) {
        return stage.withChild(transition.child());
      }
      if (node instanceof FourierBlocksExec stage
          && stage.child() instanceof RowToColumnarExec transition) {
        return stage.withChild(transition.child());
      }
      if (node instanceof MultiplyBroadcastExec product
          && product.large() instanceof ColumnarToRowTransition transition) {
        return product.withLarge(transition.child());
      }
      if (node instanceof CutBlocksExec cut
          && cut.child() instanceof ColumnarToRowTransition transition) {
        return cut.withChild(transition.child());
      }
      if (node instanceof ColumnarToRowExec transition && givesBlockBatches(transition.child())) {
        return new BlockBatchesToRowsExec(transition.child());
      }
      return null;
    }

    private static boolean givesBlockBatches(SparkPlan plan) {
      return plan instanceof BlockStageExec
          || plan instanceof FourierBlocksExec
          || (plan instanceof BatchScanExec scan && scan.scan() instanceof BlockScan);
    }
  }
}
