package org.tilespark.spark.stage;

import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.CarriesColumns;
import org.tilespark.spark.catalyst.ScalaInterop;

/**
 * Removes unused work from operators that process block by block. Unused further columns are not
 * carried; and if the values are not used (as for a count, or a list of places), only a renaming of
 * columns is left, so that the values are not even read from a file. Blocks are then not checked
 * either.
 */
public final class PruneCarriedColumns extends Rule<LogicalPlan> {
  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    return plan.transformDown(
        ScalaInterop.partialFunction(
            node ->
                node instanceof Project project
                        && project.child() instanceof CarriesColumns carrier
                        && carrier.carriesColumns()
                    ? prune(project, carrier)
                    : Optional.empty()));
  }

  private static Optional<Project> prune(Project project, CarriesColumns node) {
    AttributeSet used = project.references();
    Optional<LogicalPlan> pruned =
        node.computed().stream().anyMatch(used::contains)
            ? node.reading(used)
            : Optional.of(renamed(project, node, used));
    return pruned.map(below -> new Project(project.projectList(), below));
  }

  private static Project renamed(Project project, CarriesColumns node, AttributeSet used) {
    List<NamedExpression> kept =
        ScalaInterop.<Attribute>list(project.child().output()).stream()
            .filter(used::contains)
            .map(output -> Attributes.as(node.source(output).orElseThrow(), output))
            .toList();
    return new Project(ScalaInterop.seq(kept), node.child());
  }
}
