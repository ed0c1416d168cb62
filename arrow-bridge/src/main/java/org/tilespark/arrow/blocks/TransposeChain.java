package org.tilespark.arrow.blocks;

import java.util.List;
import org.tilespark.kernels.transpose.TransposeProblem;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;
import org.tilespark.layout.Strides;

/**
 * What happens to one block on its way: one transpose after another, each from the shape that the
 * one before gives. All sides are dense, so every step has as many bytes as the first.
 *
 * @param steps one or more
 */
public record TransposeChain(List<TransposeProblem> steps) {
  /**
   * Copies the list and checks that its steps fit each other.
   *
   * @throws IllegalArgumentException if there is no step, a step is not dense, or its shape or
   *     width is not what the step before gives
   */
  public TransposeChain {
    steps = List.copyOf(steps);
    if (steps.isEmpty()) {
      throw new IllegalArgumentException("A chain of no steps");
    }
    TransposeProblem before = null;
    for (TransposeProblem step : steps) {
      if (!step.inStrides().equals(Strides.rowMajor(step.shape()))
          || !step.outStrides().equals(Strides.rowMajor(step.outputShape()))) {
        throw new IllegalArgumentException("A chain has dense steps; found " + step);
      }
      if (before != null
          && (!step.shape().equals(before.outputShape())
              || step.elementBytes() != before.elementBytes())) {
        throw new IllegalArgumentException(
            "Step " + step + " does not take what step " + before + " gives");
      }
      before = step;
    }
  }

  /** A chain of the given steps. */
  public static TransposeChain of(TransposeProblem... steps) {
    return new TransposeChain(List.of(steps));
  }

  /**
   * The chain that applies {@code permutations}, first to last, to a block of {@code shape}.
   *
   * @throws IllegalArgumentException if there is none, or one has another rank
   */
  public static TransposeChain of(Shape shape, List<Permutation> permutations, int elementBytes) {
    Shape at = shape;
    TransposeProblem[] steps = new TransposeProblem[permutations.size()];
    for (int i = 0; i < steps.length; i++) {
      steps[i] = new TransposeProblem(at, permutations.get(i), elementBytes);
      at = steps[i].outputShape();
    }
    return of(steps);
  }

  /** Bytes of the block before, between and after the steps. */
  public long bytes() {
    return steps.get(0).bytes();
  }

  /** Width of an element. */
  public int elementBytes() {
    return steps.get(0).elementBytes();
  }

  /** Shape of the block as it comes. */
  public Shape shape() {
    return steps.get(0).shape();
  }

  /** Shape of the block as it leaves. */
  public Shape outputShape() {
    return steps.get(steps.size() - 1).outputShape();
  }

  /** The one permutation with the effect of all steps. */
  public Permutation permutation() {
    Permutation all = steps.get(0).permutation();
    for (TransposeProblem step : steps.subList(1, steps.size())) {
      all = all.then(step.permutation());
    }
    return all;
  }

  /** The permutations of the steps, in order. */
  public List<Permutation> permutations() {
    return steps.stream().map(TransposeProblem::permutation).toList();
  }
}
