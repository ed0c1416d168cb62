package org.tilespark.layout;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class AxisFusionTest {
  @Test
  void theThreeDimensionalOrders() {
    Shape shape = Shape.of(2, 3, 5);
    expect(Shape.of(30), Permutation.of(0), fuse(shape, "xyz"));
    expect(Shape.of(2, 15), Permutation.of(1, 0), fuse(shape, "yzx"));
    expect(Shape.of(6, 5), Permutation.of(1, 0), fuse(shape, "zxy"));
    expect(Shape.of(2, 3, 5), Permutation.of(0, 2, 1), fuse(shape, "xzy"));
    expect(Shape.of(2, 3, 5), Permutation.of(1, 0, 2), fuse(shape, "yxz"));
    expect(Shape.of(2, 3, 5), Permutation.of(2, 1, 0), fuse(shape, "zyx"));
  }

  @Test
  void unitAxesAreDropped() {
    expect(
        Shape.of(8, 3, 1024),
        Permutation.of(0, 2, 1),
        AxisFusion.of(Shape.of(8, 3, 1, 32, 32), Permutation.of(0, 2, 3, 4, 1)));
    expect(
        Shape.of(6), Permutation.of(0), AxisFusion.of(Shape.of(1, 6, 1), Permutation.of(2, 1, 0)));
    expect(Shape.of(1), Permutation.of(0), AxisFusion.of(Shape.of(1, 1), Permutation.of(1, 0)));
  }

  @Test
  void aBatchStaysInFrontOrMeltsIn() {
    expect(
        Shape.of(4, 2, 15),
        Permutation.of(0, 2, 1),
        AxisFusion.of(Shape.of(4, 2, 3, 5), Permutation.of(0, 2, 3, 1)));
    expect(
        Shape.of(8, 3, 5),
        Permutation.of(0, 2, 1),
        AxisFusion.of(Shape.of(4, 2, 3, 5), Permutation.of(0, 1, 3, 2)));
  }

  @Test
  void emptyAndScalarArraysAreCopies() {
    assertTrue(AxisFusion.of(Shape.of(0, 5), Permutation.of(1, 0)).isCopy());
    assertTrue(AxisFusion.of(Shape.of(), Permutation.identity(0)).isCopy());
    assertEquals(1, AxisFusion.of(Shape.of(), Permutation.identity(0)).rank());
  }

  @Test
  void fusingAgainChangesNothing() {
    for (int[] axes : new int[][] {{3, 0, 1, 2}, {2, 3, 0, 1}, {0, 3, 2, 1}, {1, 0, 3, 2}}) {
      AxisFusion once = AxisFusion.of(Shape.of(2, 3, 1, 7), Permutation.of(axes));
      assertEquals(once, AxisFusion.of(once.shape(), once.permutation()));
      assertEquals(42, once.shape().elements());
    }
  }

  @Test
  void runsCanBeTakenAsElements() {
    AxisFusion runs = AxisFusion.of(Shape.of(2, 3, 5), Permutation.of(1, 0, 2));
    assertTrue(runs.keepsInnermost());
    expect(Shape.of(2, 3), Permutation.of(1, 0), runs.withoutInnermost());
    AxisFusion moves = AxisFusion.of(Shape.of(2, 3), Permutation.of(1, 0));
    assertFalse(moves.keepsInnermost());
    assertThrows(IllegalStateException.class, moves::withoutInnermost);
  }

  @Test
  void ranksMustAgree() {
    Exception e =
        assertThrows(
            IllegalArgumentException.class,
            () -> AxisFusion.of(Shape.of(2, 3), Permutation.identity(3)));
    assertEquals("Shape (2, 3) has 2 axes, permutation [0, 1, 2] has 3", e.getMessage());
  }

  @Test
  void stridesOfARowMajorArray() {
    Strides strides = Strides.rowMajor(Shape.of(2, 3, 5));
    assertEquals("[15, 5, 1]", strides.toString());
    assertEquals("[5, 1, 15]", strides.permute(Permutation.parse("yzx")).toString());
  }

  private static AxisFusion fuse(Shape shape, String order) {
    return AxisFusion.of(shape, Permutation.parse(order));
  }

  private static void expect(Shape shape, Permutation permutation, AxisFusion actual) {
    assertEquals(new AxisFusion(shape, permutation), actual);
  }
}
