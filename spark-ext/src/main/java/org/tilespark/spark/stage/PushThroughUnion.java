package org.tilespark.spark.stage;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.types.Metadata;
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
    for (LogicalPlan each : ScalaInterop.<LogicalPlan>list(union.children())) {
      LogicalPlan branch = described(each, columns);
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

  /**
   * A branch whose columns have the metadata of the union's. Spark drops the metadata of aliases
   * that it moves into other branches than the first, and they may describe volumes whose blocks
   * the alias made matrices.
   */
  private static LogicalPlan described(LogicalPlan branch, List<Attribute> columns) {
    List<NamedExpression> list = new ArrayList<>(ScalaInterop.<Attribute>list(branch.output()));
    boolean isDescribed = true;
    for (int i = 0; i < list.size(); i++) {
      Metadata metadata = columns.get(i).metadata();
      if (!list.get(i).metadata().equals(metadata)) {
        list.set(i, Attributes.alias((Expression) list.get(i), list.get(i).name(), metadata));
        isDescribed = false;
      }
    }
    return isDescribed ? branch : new Project(ScalaInterop.seq(list), branch);
  }
}
