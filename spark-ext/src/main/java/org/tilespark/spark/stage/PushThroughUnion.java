package org.tilespark.spark.stage;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.MadeAnewNode;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.permute.PermuteBlocks;
import scala.collection.immutable.Seq;

/**
 * Moves programs and permutations that treat each block by itself below a union, so that each
 * branch's blocks go through one stage with what is below.
 */
public final class PushThroughUnion extends Rule<LogicalPlan> {
  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    return plan.transformDown(
        ScalaInterop.partialFunction(
            node -> {
              if (node instanceof ProgramBlocks program
                  && program.spec().takesEachBlock()
                  && program.child() instanceof Union union) {
                return pushed(
                    program,
                    union,
                    (inputs, produced, child) ->
                        new ProgramBlocks(
                            program.spec(), inputs, produced, child, ScalaInterop.emptySeq()));
              }
              if (node instanceof PermuteBlocks permute && permute.child() instanceof Union union) {
                return pushed(
                    permute,
                    union,
                    (inputs, produced, child) ->
                        new PermuteBlocks(permute.spec(), inputs, produced, child));
              }
              return Optional.empty();
            }));
  }

  /** Makes a node over one branch. */
  private interface OverBranch {
    LogicalPlan of(Seq<Attribute> inputs, Seq<Attribute> produced, LogicalPlan branch);
  }

  /** The union of the node over each branch; the first one gives the union its columns. */
  private static Optional<LogicalPlan> pushed(
      MadeAnewNode<?> node, Union union, OverBranch overBranch) {
    List<Attribute> columns = ScalaInterop.list(union.output());
    List<Integer> positions =
        ScalaInterop.<Attribute>list(node.inputs()).stream()
            .map(column -> Attributes.indexOf(columns, column))
            .toList();
    List<LogicalPlan> branches = new ArrayList<>();
    for (LogicalPlan branch : ScalaInterop.<LogicalPlan>list(union.children())) {
      List<Attribute> own = ScalaInterop.list(branch.output());
      branches.add(
          overBranch.of(
              ScalaInterop.seq(positions.stream().map(own::get).toList()),
              branches.isEmpty() ? node.produced() : Attributes.fresh(node.produced()),
              branch));
    }
    return Optional.of(
        new Union(ScalaInterop.seq(branches), union.byName(), union.allowMissingCol()));
  }
}
