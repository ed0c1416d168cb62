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
 * Composes two successive permutations into one, and removes a permutation that changes nothing: a
 * transpose of a transpose leaves only a renaming of columns. A projection between the two that
 * only drops or reorders columns is skipped.
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
    // A projection between the two can only choose columns, if the columns read are the inner
    // node's own.
    LogicalPlan below = outer.child() instanceof Project project ? project.child() : outer.child();
    return below instanceof ProgramBlocks inner
            && inner.asPermutation().isPresent()
            && outer.read().stream().allMatch(inner.outputSet()::contains)
        ? BlockStage.composed(outer)
        : Optional.empty();
  }

  /**
   * A projection that replaces a permutation without effect, with the same output names and ids.
   */
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
