package org.tilespark.spark.testing;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec;
import org.apache.spark.sql.execution.adaptive.QueryStageExec;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.stage.BlockStageExec;

/** Finds nodes of a physical plan, also inside the stages of adaptive execution. */
public final class PlanNodes {
  private PlanNodes() {}

  /** All nodes of a type, from the top; those of adaptive execution once the query has run. */
  public static <T> List<T> all(QueryExecution query, Class<T> type) {
    return all(query.executedPlan(), type);
  }

  /** The stages that cut blocks and compute nothing. */
  public static List<BlockStageExec> cutting(SparkPlan root) {
    return moving(root, false);
  }

  /** The stages that put blocks together and compute nothing. */
  public static List<BlockStageExec> assembling(SparkPlan root) {
    return moving(root, true);
  }

  /** The stages that compute. */
  public static List<BlockStageExec> computing(SparkPlan root) {
    return all(root, BlockStageExec.class).stream().filter(stage -> !stage.onlyMoves()).toList();
  }

  private static List<BlockStageExec> moving(SparkPlan root, boolean isOfPieces) {
    return all(root, BlockStageExec.class).stream()
        .filter(BlockStageExec::onlyMoves)
        .filter(stage -> stage.assembled().isDefined() == isOfPieces)
        .toList();
  }

  /** As the other one, of a plan. */
  public static <T> List<T> all(SparkPlan root, Class<T> type) {
    List<T> found = new ArrayList<>();
    Deque<SparkPlan> open = new ArrayDeque<>();
    open.add(root);
    while (!open.isEmpty()) {
      SparkPlan plan = open.remove();
      if (type.isInstance(plan)) {
        found.add(type.cast(plan));
      }
      if (plan instanceof AdaptiveSparkPlanExec adaptive) {
        open.add(adaptive.executedPlan());
      } else if (plan instanceof QueryStageExec stage) {
        open.add(stage.plan());
      }
      open.addAll(ScalaInterop.<SparkPlan>list(plan.children()));
    }
    return found;
  }
}
