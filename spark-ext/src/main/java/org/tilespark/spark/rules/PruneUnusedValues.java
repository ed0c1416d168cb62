package org.tilespark.spark.rules;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.tilespark.spark.interop.ScalaInterop;
import org.tilespark.spark.plans.PermuteBlocks;
import org.tilespark.spark.plans.PermutedColumns;

/**
 * Removes a permutation whose values nobody reads: a count, or a list of places, needs only the
 * renamed columns, so the values are not even read from the file. Blocks are then not checked
 * either.
 */
public final class PruneUnusedValues extends Rule<LogicalPlan> {
  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    return plan.transformDown(
        ScalaInterop.partialFunction(
            node ->
                node instanceof Project project && project.child() instanceof PermuteBlocks permute
                    ? prune(project, permute)
                    : null));
  }

  private static LogicalPlan prune(Project project, PermuteBlocks permute) {
    PermutedColumns columns = permute.columns();
    AttributeSet used = project.references();
    List<NamedExpression> kept = new ArrayList<>();
    for (Attribute output : ScalaInterop.<Attribute>list(permute.output())) {
      if (!used.contains(output)) {
        continue;
      }
      Optional<Attribute> source = columns.source(output);
      if (source.isEmpty()) {
        return null; // its values are read
      }
      kept.add(
          source.get().exprId().equals(output.exprId())
              ? output
              : Renaming.as(source.get(), output));
    }
    return new Project(project.projectList(), new Project(ScalaInterop.seq(kept), permute.child()));
  }
}
