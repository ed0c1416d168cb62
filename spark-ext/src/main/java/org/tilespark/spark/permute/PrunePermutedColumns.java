package org.tilespark.spark.permute;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ScalaInterop;

/**
 * Keeps a permutation from doing what nobody reads. Further columns that are not used above are not
 * carried; and if the values are not used (a count, a list of places), only a renaming of columns
 * is left, so that the values are not even read from a file. Blocks are then not checked either.
 */
public final class PrunePermutedColumns extends Rule<LogicalPlan> {
  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    return plan.transformDown(
        ScalaInterop.partialFunction(
            node ->
                node instanceof Project project && project.child() instanceof PermuteBlocks permute
                    ? prune(project, permute)
                    : Optional.empty()));
  }

  private static Optional<Project> prune(Project project, PermuteBlocks permute) {
    PermutedColumns columns = permute.columns();
    AttributeSet used = project.references();
    boolean valuesUsed =
        columns.blocks().planes().stream().map(columns.produced()::get).anyMatch(used::contains);
    return valuesUsed
        ? dropUnusedFurther(project, permute, used)
        : Optional.of(rename(project, permute, used));
  }

  private static Project rename(Project project, PermuteBlocks permute, AttributeSet used) {
    PermutedColumns columns = permute.columns();
    List<NamedExpression> kept =
        columns.produced().stream()
            .filter(used::contains)
            .map(output -> Attributes.as(columns.source(output).orElseThrow(), output))
            .toList();
    return new Project(project.projectList(), new Project(ScalaInterop.seq(kept), permute.child()));
  }

  private static Optional<Project> dropUnusedFurther(
      Project project, PermuteBlocks permute, AttributeSet used) {
    PermutedColumns columns = permute.columns();
    List<Attribute> inputs = new ArrayList<>();
    List<Attribute> produced = new ArrayList<>();
    for (int i = 0; i < columns.produced().size(); i++) {
      if (used.contains(columns.produced().get(i)) || isNeeded(columns.blocks(), i)) {
        inputs.add(columns.inputs().get(i));
        produced.add(columns.produced().get(i));
      }
    }
    if (produced.size() == columns.produced().size()) {
      return Optional.empty();
    }
    return Optional.of(
        new Project(
            project.projectList(),
            new PermuteBlocks(
                permute.spec(),
                ScalaInterop.seq(inputs),
                ScalaInterop.seq(produced),
                permute.child())));
  }

  /** True for columns the operator itself needs; an unused imaginary part is not among them. */
  private static boolean isNeeded(BlockSchema blocks, int position) {
    return blocks.blockColumns().contains(position) && !blocks.isImag(position);
  }
}
