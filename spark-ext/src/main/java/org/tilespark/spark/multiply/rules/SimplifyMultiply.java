package org.tilespark.spark.multiply.rules;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.multiply.MultiplyBlocks;
import org.tilespark.spark.multiply.MultiplySpec;
import org.tilespark.spark.multiply.scores.Reduction;
import org.tilespark.spark.options.MultiplyOptions.Strategy;
import org.tilespark.spark.stage.ProgramBlocks;

/**
 * Removes work around products of matrices:
 *
 * <ul>
 *   <li>a transpose below a product becomes a flag of the product;
 *   <li>the transpose of a product becomes the product of the transposed operands in reverse order,
 *       {@code (AB)^T = B^T A^T}, with flags;
 *   <li>a product of a matrix with its own transpose becomes a gram, which reads its operand once
 *       and computes half of the result; except for nearest neighbours, which need whole rows of C.
 *       Two operands are the same if Spark finds that their plans give the same result.
 * </ul>
 */
public final class SimplifyMultiply extends Rule<LogicalPlan> {
  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    return plan.transformUp(
        ScalaInterop.partialFunction(
            node -> {
              if (node instanceof MultiplyBlocks product) {
                return simplify(product);
              }
              return node instanceof ProgramBlocks program && OperandSource.isTranspose(program)
                  ? transposed(program)
                  : Optional.empty();
            }));
  }

  /** The simpler product, if there is one. */
  private static Optional<MultiplyBlocks> simplify(MultiplyBlocks product) {
    MultiplyBlocks simpler = product;
    for (Optional<MultiplyBlocks> next = absorbTranspose(product); next.isPresent(); ) {
      simpler = next.get();
      next = absorbTranspose(simpler);
    }
    simpler = asGram(simpler).orElse(simpler);
    return simpler == product ? Optional.empty() : Optional.of(simpler);
  }

  private static Optional<MultiplyBlocks> absorbTranspose(MultiplyBlocks product) {
    List<LogicalPlan> operands = product.operands();
    for (int i = 0; i < operands.size(); i++) {
      Optional<OperandSource> below =
          new OperandSource(operands.get(i), product.inputs(i)).belowTranspose();
      if (below.isPresent()) {
        List<List<Attribute>> inputs = new ArrayList<>();
        for (int j = 0; j < operands.size(); j++) {
          inputs.add(j == i ? below.get().columns() : product.inputs(j));
        }
        List<LogicalPlan> plans = new ArrayList<>(operands);
        plans.set(i, below.get().plan());
        boolean gram = product.spec().gram();
        return Optional.of(
            product.with(product.spec().flipped(gram || i == 0, gram || i == 1), inputs, plans));
      }
    }
    return Optional.empty();
  }

  private static Optional<MultiplyBlocks> asGram(MultiplyBlocks product) {
    MultiplySpec spec = product.spec();
    boolean suits =
        !spec.gram()
            && !(spec.reduction().nonEmpty() && spec.reduction().get() instanceof Reduction.Nearest)
            && spec.transposeA() != spec.transposeB()
            && spec.m() == spec.n()
            && (spec.strategy() instanceof Strategy.Auto
                || (spec.strategy() instanceof Strategy.Cuboid cuboid && cuboid.p() == cuboid.q()));
    if (!suits) {
      return Optional.empty();
    }
    OperandSource left =
        new OperandSource(product.operands().get(0), product.inputs(0)).belowProjections();
    OperandSource right =
        new OperandSource(product.operands().get(1), product.inputs(1)).belowProjections();
    return left.plan().deterministic()
            && left.plan().sameResult(right.plan())
            && left.ordinals().equals(right.ordinals())
        ? Optional.of(product.with(spec.asGram(), List.of(left.columns()), List.of(left.plan())))
        : Optional.empty();
  }

  /**
   * The product that takes the place of a transpose; empty if what is transposed is not a product.
   */
  private static Optional<Project> transposed(ProgramBlocks transpose) {
    return OperandSource.productBelow(transpose)
        .map(
            product -> {
              List<List<Attribute>> inputs = new ArrayList<>();
              List<LogicalPlan> operands = new ArrayList<>();
              for (int i = product.operands().size() - 1; i >= 0; i--) {
                inputs.add(product.inputs(i));
                operands.add(product.operands().get(i));
              }
              return OperandSource.inPlaceOf(
                  transpose, product.with(product.spec().transposed(), inputs, operands));
            });
  }
}
