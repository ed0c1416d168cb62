package org.tilespark.spark.multiply.rules;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.tilespark.arrow.blocks.ArrayStep;
import org.tilespark.arrow.blocks.Interleave;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.multiply.MultiplyBlocks;
import org.tilespark.spark.multiply.MultiplyBlocks.Column;
import org.tilespark.spark.stage.ProgramBlocks;

/**
 * The source of an operand's columns.
 *
 * @param plan plan that gives the columns
 * @param columns columns of {@code plan}, in {@link Column}'s order, then grouping columns
 */
record OperandSource(LogicalPlan plan, List<Attribute> columns) {
  /** The source below all projections that only choose, reorder or rename columns. */
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

  /** The source below a transpose; empty if the columns are not those of a transpose. */
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

  /**
   * The source below a step that makes real and imaginary parts of complex numbers alternate; empty
   * if there is none.
   */
  Optional<OperandSource> belowParts() {
    OperandSource source = belowProjections();
    if (!(source.plan instanceof ProgramBlocks parts)
        || !parts.spec().takesEachBlock()
        || !parts.gives(source.columns.subList(0, Column.COUNT))) {
      return Optional.empty();
    }
    List<ArrayStep> steps = parts.spec().program().steps();
    int last = steps.size() - 1;
    boolean interleaves =
        last >= 0
            && steps.get(last) instanceof Interleave
            && steps.subList(0, last).stream().allMatch(step -> step.ofElements().isPresent());
    List<Attribute> below = new ArrayList<>(parts.read().subList(0, Column.COUNT));
    return interleaves
        ? parts
            .sources(source.columns.subList(Column.COUNT, source.columns.size()))
            .map(
                groups -> {
                  below.addAll(groups);
                  return new OperandSource(parts.child(), below);
                })
        : Optional.empty();
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

  /**
   * The product whose blocks a node processes one by one, with the columns that the node gives;
   * empty if there is none, or if it is reduced.
   */
  static Optional<MultiplyBlocks> productBelow(ProgramBlocks node) {
    OperandSource read = new OperandSource(node.child(), node.read()).belowProjections();
    if (!(read.plan instanceof MultiplyBlocks product) || product.spec().reduction().isDefined()) {
      return Optional.empty();
    }
    List<Attribute> computed = product.produced();
    List<Attribute> produced = new ArrayList<>();
    for (int i = 0; i < computed.size(); i++) {
      int position = Attributes.indexOf(read.columns, computed.get(i));
      if (i < Column.COUNT && position != i) {
        return Optional.empty(); // not the product's block columns in their order
      }
      // An unused grouping column is missing among the given columns.
      produced.add(position < 0 ? computed.get(i).newInstance() : node.given().get(position));
    }
    return read.columns.stream().allMatch(column -> Attributes.indexOf(computed, column) >= 0)
        ? Optional.of(product.producing(produced))
        : Optional.empty();
  }

  /** A product that takes the place of a node: with the node's output columns, in their order. */
  static Project inPlaceOf(ProgramBlocks node, MultiplyBlocks product) {
    return new Project(
        ScalaInterop.<NamedExpression>seq(ScalaInterop.<Attribute>list(node.output())), product);
  }
}
