package org.tilespark.spark.multiply;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.multiply.MultiplyBlocks.Column;
import org.tilespark.spark.permute.PermuteBlocks;
import org.tilespark.spark.permute.PermutedColumns;

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
    if (!(source.plan instanceof PermuteBlocks permute) || !isTranspose(permute)) {
      return Optional.empty();
    }
    PermutedColumns columns = permute.columns();
    List<Integer> parts = parts(columns.blocks());
    List<Attribute> below = new ArrayList<>();
    for (int i = 0; i < source.columns.size(); i++) {
      Attribute read = source.columns.get(i);
      if (i < Column.COUNT) {
        if (Attributes.indexOf(columns.produced(), read) != parts.get(i)) {
          return Optional.empty(); // the product takes its blocks from elsewhere
        }
        below.add(columns.inputs().get(parts.get(i)));
      } else {
        Optional<Attribute> group = columns.source(read);
        if (group.isEmpty()) {
          return Optional.empty();
        }
        below.add(group.get());
      }
    }
    return Optional.of(new OperandSource(permute.child(), below));
  }

  /** Positions of the columns in the plan's output. */
  List<Integer> ordinals() {
    List<Attribute> output = ScalaInterop.list(plan.output());
    return columns.stream().map(c -> Attributes.indexOf(output, c)).toList();
  }

  /** True for a real matrix's transpose. */
  static boolean isTranspose(PermuteBlocks permute) {
    return permute.spec().kind() == BlockKind.MATRIX
        && permute.spec().permutation().equals(Permutation.of(1, 0))
        && !permute.columns().blocks().isComplex();
  }

  /** Positions of a block's columns, in {@link Column}'s order. */
  static List<Integer> parts(BlockSchema blocks) {
    return List.of(
        blocks.offsets().get(0),
        blocks.offsets().get(1),
        blocks.sizes().get(0),
        blocks.sizes().get(1),
        blocks.values());
  }
}
