package org.tilespark.spark.multiply;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.multiply.MultiplyBlocks.Column;
import org.tilespark.spark.stage.ProgramBlocks;

/**
 * Where the columns of an operand come from.
 *
 * @param plan what gives the columns
 * @param columns of {@code plan}, in {@link Column}'s order, grouping columns behind
 */
record OperandSource(LogicalPlan plan, List<Attribute> columns) {
  /** Below all projections that only choose, reorder or rename columns. */
  OperandSource belowProjections() {
    OperandSource source = this;
    while (source.plan instanceof Project project) {
      Optional<List<Attribute>> below = Attributes.below(project, source.columns);
      if (below.isEmpty()) {
        break;
      }
      source = new OperandSource(project.child(), below.get());
    }
    return source;
  }

  /** Below a transpose, whose blocks these are; empty if there is none. */
  Optional<OperandSource> belowTranspose() {
    OperandSource source = belowProjections();
    if (!(source.plan instanceof ProgramBlocks transpose)
        || !isTranspose(transpose)
        || !transpose.gives(source.columns.subList(0, Column.COUNT))) {
      return Optional.empty();
    }
    List<Attribute> below = new ArrayList<>(transpose.read().subList(0, Column.COUNT));
    return transpose
        .sources(source.columns.subList(Column.COUNT, source.columns.size()))
        .map(
            groups -> {
              below.addAll(groups);
              return new OperandSource(transpose.child(), below);
            });
  }

  /** Positions of the columns in the plan's output. */
  List<Integer> ordinals() {
    List<Attribute> output = ScalaInterop.list(plan.output());
    return columns.stream().map(c -> Attributes.indexOf(output, c)).toList();
  }

  /** True for a real matrix's transpose. */
  static boolean isTranspose(ProgramBlocks node) {
    return node.asPermutation().equals(Optional.of(Permutation.of(1, 0)))
        && !node.spec().out().isComplex();
  }
}
