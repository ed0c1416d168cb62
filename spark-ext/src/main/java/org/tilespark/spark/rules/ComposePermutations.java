package org.tilespark.spark.rules;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.interop.ScalaInterop;
import org.tilespark.spark.plans.PermuteBlocks;
import org.tilespark.spark.plans.PermutedColumns;

/**
 * Makes one permutation of two in a row, and none of one that changes nothing: a transpose of a
 * transpose leaves only a renaming of columns. A projection between the two that merely drops or
 * reorders columns is stepped over.
 */
public final class ComposePermutations extends Rule<LogicalPlan> {
  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    return plan.transformUp(
        ScalaInterop.partialFunction(
            node -> node instanceof PermuteBlocks permute ? simplify(permute) : null));
  }

  /** The simpler plan, or null if there is none. */
  private static LogicalPlan simplify(PermuteBlocks outer) {
    if (outer.permutation().isIdentity()) {
      return renamed(outer);
    }
    if (outer.child() instanceof PermuteBlocks inner && inner.kind() == outer.kind()) {
      return composed(outer, inner, inner.child());
    }
    if (outer.child() instanceof Project project
        && project.child() instanceof PermuteBlocks inner
        && inner.kind() == outer.kind()) {
      return belowProject(project, inner).map(child -> composed(outer, inner, child)).orElse(null);
    }
    return null;
  }

  private static LogicalPlan composed(PermuteBlocks outer, PermuteBlocks inner, LogicalPlan child) {
    Permutation both = inner.permutation().then(outer.permutation());
    return new PermuteBlocks(outer.kind(), both, inner.inputs(), outer.produced(), child);
  }

  /**
   * The projection moved below {@code inner}: the same columns, with the inputs of {@code inner} in
   * place of what it produces. Empty if the projection does more than choose columns.
   */
  private static Optional<LogicalPlan> belowProject(Project project, PermuteBlocks inner) {
    List<Attribute> inputs = ScalaInterop.list(inner.inputs());
    List<Attribute> produced = ScalaInterop.list(inner.produced());
    List<NamedExpression> below = new ArrayList<>();
    for (NamedExpression column : ScalaInterop.<NamedExpression>list(project.projectList())) {
      if (!(column instanceof Attribute attribute)) {
        return Optional.empty();
      }
      int block = -1;
      for (int i = 0; i < produced.size(); i++) {
        if (produced.get(i).exprId().equals(attribute.exprId())) {
          block = i;
        }
      }
      below.add(block < 0 ? column : inputs.get(block));
    }
    return Optional.of(new Project(ScalaInterop.seq(below), inner.child()));
  }

  /** The columns of a permutation that changes nothing, under the names and ids it gave them. */
  private static LogicalPlan renamed(PermuteBlocks permute) {
    PermutedColumns columns = permute.columns();
    List<NamedExpression> list = new ArrayList<>();
    for (Attribute output : ScalaInterop.<Attribute>list(permute.output())) {
      int block = columns.produced().indexOf(output);
      list.add(block < 0 ? output : Renaming.as(columns.inputs().get(block), output));
    }
    return new Project(ScalaInterop.seq(list), permute.child());
  }
}
