package org.tilespark.spark.rows;

import java.util.Optional;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.ColumnarRule;
import org.apache.spark.sql.execution.ColumnarToRowExec;
import org.apache.spark.sql.execution.ColumnarToRowTransition;
import org.apache.spark.sql.execution.ProjectExec;
import org.apache.spark.sql.execution.RowToColumnarExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.UnionExec;
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec;
import org.tilespark.spark.catalyst.ScalaInterop;

/**
 * Replaces Spark's transitions between rows and columns next to our nodes, since these copy element
 * by element: below, our nodes read rows directly; above, {@link BlockBatchesToRowsExec} copies
 * each array at once. Projections below our nodes that only pick columns are replaced by {@link
 * RenamedBlocksExec}.
 */
public final class BulkTransitions extends ColumnarRule {
  @Override
  public Rule<SparkPlan> postColumnarTransitions() {
    return new Replace();
  }

  private static final class Replace extends Rule<SparkPlan> {
    @Override
    public SparkPlan apply(SparkPlan plan) {
      return plan.transformUp(ScalaInterop.partialFunction(Replace::replace));
    }

    private static Optional<SparkPlan> replace(SparkPlan node) {
      if (node instanceof ReadsBlocks reader) {
        SparkPlan direct =
            reader.withBlocks(reader.blocks().stream().map(Replace::direct).toList());
        return direct.equals(node) ? Optional.empty() : Optional.of(direct);
      }
      if (node instanceof ColumnarToRowExec transition && givesBlockBatches(transition.child())) {
        return Optional.of(new BlockBatchesToRowsExec(transition.child()));
      }
      return Optional.empty();
    }

    /** The plan without transitions at its top, also below projections that only pick columns. */
    private static SparkPlan direct(SparkPlan plan) {
      if (plan instanceof RowToColumnarExec || plan instanceof ColumnarToRowTransition) {
        return direct(plan.children().head());
      }
      if (plan instanceof ProjectExec project) {
        return RenamedBlocksExec.of(project, direct(project.child()))
            .<SparkPlan>map(each -> each)
            .orElse(plan);
      }
      return plan;
    }

    private static boolean givesBlockBatches(SparkPlan plan) {
      return plan instanceof GivesBlockBatches
          || (plan instanceof BatchScanExec scan && scan.scan() instanceof BlockScan)
          || (plan instanceof UnionExec union
              && ScalaInterop.<SparkPlan>list(union.children()).stream()
                  .allMatch(Replace::givesBlockBatches));
    }
  }
}
