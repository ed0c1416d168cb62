package org.tilespark.spark.multiply.rules;

import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.tilespark.arrow.blocks.ArrayProgram;
import org.tilespark.kernels.pointwise.ElementwiseProgram;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.stage.ProgramBlocks;

/**
 * Moves elementwise programs on a product into the product: tasks run them on finished tiles,
 * before these are written or downloaded. The results have the same bits.
 */
public final class MapProducts extends Rule<LogicalPlan> {
  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    return plan.transformUp(
        ScalaInterop.partialFunction(
            node -> node instanceof ProgramBlocks mapped ? taken(mapped) : Optional.empty()));
  }

  /**
   * The product that also computes {@code mapped}; empty if {@code mapped} is not elementwise on a
   * product.
   */
  private static Optional<Project> taken(ProgramBlocks mapped) {
    ArrayProgram program = mapped.spec().program();
    Optional<List<ElementwiseProgram>> elements = program.ofElements();
    if (elements.isEmpty() || !mapped.spec().takesEachBlock()) {
      return Optional.empty();
    }
    String text = program.steps().stream().map(Object::toString).collect(Collectors.joining(", "));
    return OperandSource.productBelow(mapped)
        .map(product -> OperandSource.inPlaceOf(mapped, product.then(elements.get(), text)));
  }
}
