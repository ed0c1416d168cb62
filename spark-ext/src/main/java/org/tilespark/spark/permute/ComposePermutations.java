package org.tilespark.spark.permute;

import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.stage.BlockStage;
import org.tilespark.spark.stage.ProgramBlocks;

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
            node ->
                node instanceof ProgramBlocks program
                    ? program.asPermutation().flatMap(order -> simplify(program, order))
                    : Optional.empty()));
  }

  /** The simpler plan, if there is one. */
  private static Optional<LogicalPlan> simplify(ProgramBlocks outer, Permutation order) {
    if (order.isIdentity()) {
      return Optional.of(renamed(outer));
    }
    // A projection between the two can only choose columns, as far as the ones read are the
    // inner node's own.
    LogicalPlan below = outer.child() instanceof Project project ? project.child() : outer.child();
    return below instanceof ProgramBlocks inner
            && inner.asPermutation().isPresent()
            && outer.read().stream().allMatch(inner.outputSet()::contains)
        ? BlockStage.composed(outer)
        : Optional.empty();
  }

  /** The columns of a permutation that changes nothing, under the names and ids it gave them. */
  private static LogicalPlan renamed(ProgramBlocks permutation) {
    List<Attribute> read = permutation.read();
    List<Attribute> given = permutation.given();
    List<NamedExpression> list =
        ScalaInterop.<Attribute>list(permutation.output()).stream()
            .map(column -> Attributes.as(read.get(Attributes.indexOf(given, column)), column))
            .toList();
    return new Project(ScalaInterop.seq(list), permutation.child());
  }
}
