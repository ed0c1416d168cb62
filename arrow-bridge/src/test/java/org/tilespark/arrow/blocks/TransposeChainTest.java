package org.tilespark.arrow.blocks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.transpose.TransposeProblem;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;
import org.tilespark.layout.Strides;

class TransposeChainTest {
  private static final Permutation YZX = Permutation.parse("yzx");

  @Test
  void eachStepTakesTheShapeThatTheOneBeforeGives() {
    TransposeChain chain =
        TransposeChain.of(Shape.of(2, 3, 5), List.of(YZX, Permutation.parse("zyx")), 8);
    assertEquals(Shape.of(3, 5, 2), chain.steps().get(1).shape());
    assertEquals(Shape.of(2, 5, 3), chain.outputShape());
    assertEquals(Shape.of(2, 3, 5), chain.shape());
    assertEquals(Permutation.parse("xzy"), chain.permutation());
    assertEquals(2 * 3 * 5 * 8, chain.bytes());
    assertEquals(
        chain, TransposeChain.of(Shape.of(2, 3, 5), List.of(YZX, Permutation.parse("zyx")), 8));
  }

  @Test
  void stepsThatDoNotFitAreRefused() {
    TransposeProblem first = new TransposeProblem(Shape.of(2, 3, 5), YZX, 4);
    refused("does not take", first, first);
    refused("does not take", first, new TransposeProblem(Shape.of(3, 5, 2), YZX, 8));
    refused("no steps");
    refused(
        "dense steps",
        new TransposeProblem(
            Shape.of(2, 3),
            Permutation.of(1, 0),
            4,
            Strides.of(4, 1),
            Strides.rowMajor(Shape.of(3, 2))));
  }

  private static void refused(String reason, TransposeProblem... steps) {
    Exception e = assertThrows(IllegalArgumentException.class, () -> TransposeChain.of(steps));
    assertTrue(e.getMessage().contains(reason), e.getMessage());
  }
}
