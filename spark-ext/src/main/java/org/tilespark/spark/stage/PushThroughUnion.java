package org.tilespark.spark.stage;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ScalaInterop;

/**
 * Moves programs that treat each block separately below a union, so that each branch's blocks go
 * through one stage with the operators below.
 */
public final class PushThroughUnion extends Rule<LogicalPlan> {
  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    return plan.transformDown(
        ScalaInterop.partialFunction(
            node ->
                node instanceof ProgramBlocks program
                        && program.spec().takesEachBlock()
                        && program.child() instanceof Union union
                    ? Optional.of(pushed(program, union))
                    : Optional.empty()));
  }

  /** The union of the program over each branch; the first one gives the union its columns. */
  private static LogicalPlan pushed(ProgramBlocks program, Union union) {
    List<Attribute> columns = ScalaInterop.list(union.output());
    List<Integer> positions =
        StageBranch.positions(columns, ScalaInterop.<Attribute>list(program.inputs()));
    List<LogicalPlan> branches = new ArrayList<>();
    for (LogicalPlan branch : ScalaInterop.<LogicalPlan>list(union.children())) {
      List<Attribute> own = ScalaInterop.list(branch.output());
      branches.add(
          new ProgramBlocks(
              program.spec(),
              ScalaInterop.seq(positions.stream().map(own::get).toList()),
              branches.isEmpty() ? program.produced() : Attributes.fresh(program.produced()),
              branch,
              ScalaInterop.emptySeq()));
    }
    return new Union(ScalaInterop.seq(branches), union.byName(), union.allowMissingCol());
  }
}
