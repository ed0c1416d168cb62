package org.tilespark.spark.permute;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ScalaInterop;

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
            node -> node instanceof PermuteBlocks permute ? simplify(permute) : Optional.empty()));
  }

  /** The simpler plan, if there is one. */
  private static Optional<LogicalPlan> simplify(PermuteBlocks outer) {
    if (outer.spec().permutation().isIdentity()) {
      return Optional.of(renamed(outer));
    }
    // A projection between the two can only choose columns, as far as the ones read are the
    // inner node's own.
    LogicalPlan below = outer.child() instanceof Project project ? project.child() : outer.child();
    return below instanceof PermuteBlocks inner && inner.spec().kind() == outer.spec().kind()
        ? composed(outer, inner)
        : Optional.empty();
  }

  /**
   * One node for two: each column that {@code outer} reads is one that {@code inner} produces, and
   * so comes from the input of {@code inner} in the same place.
   */
  private static Optional<LogicalPlan> composed(PermuteBlocks outer, PermuteBlocks inner) {
    PermutedColumns below = inner.columns();
    // Empty if a projection between them computes one of the columns.
    return Attributes.counterparts(outer.columns().inputs(), below.produced(), below.inputs())
        .map(
            inputs ->
                new PermuteBlocks(
                    new BlockPermutation(
                        outer.spec().kind(),
                        inner.spec().permutation().then(outer.spec().permutation()),
                        inner.spec().extents()),
                    ScalaInterop.seq(inputs),
                    outer.produced(),
                    inner.child()));
  }

  /** The columns of a permutation that changes nothing, under the names and ids it gave them. */
  private static LogicalPlan renamed(PermuteBlocks permute) {
    PermutedColumns columns = permute.columns();
    List<NamedExpression> list = new ArrayList<>();
    for (int i = 0; i < columns.produced().size(); i++) {
      list.add(Attributes.as(columns.inputs().get(i), columns.produced().get(i)));
    }
    return new Project(ScalaInterop.seq(list), permute.child());
  }
}
