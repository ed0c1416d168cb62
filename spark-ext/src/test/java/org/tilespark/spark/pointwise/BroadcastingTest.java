package org.tilespark.spark.pointwise;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.BlockKind;

/** Extents of what several arrays make. */
class BroadcastingTest {
  private static Broadcasting matrices(Shape... shapes) {
    return Broadcasting.of(
        BlockKind.MATRIX, List.of("a", "b", "c").subList(0, shapes.length), List.of(shapes));
  }

  private static Broadcasting expected(Shape extents, Set<Integer>... repeated) {
    return new Broadcasting(extents, List.of(repeated));
  }

  @Test
  void equalExtents() {
    assertEquals(
        expected(Shape.of(3, 4), Set.of(), Set.of()), matrices(Shape.of(3, 4), Shape.of(3, 4)));
    assertEquals(expected(Shape.of(3, 4), Set.of()), matrices(Shape.of(3, 4)));
  }

  @Test
  void extentsOfOneRepeat() {
    assertEquals(
        expected(Shape.of(3, 4), Set.of(1), Set.of(0), Set.of(0, 1)),
        matrices(Shape.of(3, 1), Shape.of(1, 4), Shape.of(1, 1)));
    assertEquals(
        new Broadcasting(Shape.of(2, 3, 4), List.of(Set.of(), Set.of(0, 2))),
        Broadcasting.of(
            BlockKind.VOLUME, List.of("a", "b"), List.of(Shape.of(2, 3, 4), Shape.of(1, 3, 1))));
  }

  /** Nothing is to be repeated where the result has extent 1 too. */
  @Test
  void resultOfExtentOne() {
    assertEquals(
        expected(Shape.of(1, 4), Set.of(), Set.of(1)), matrices(Shape.of(1, 4), Shape.of(1, 1)));
  }

  @Test
  void emptyArrays() {
    assertEquals(
        expected(Shape.of(0, 4), Set.of(), Set.of(0)), matrices(Shape.of(0, 4), Shape.of(1, 4)));
    assertThrows(IllegalArgumentException.class, () -> matrices(Shape.of(0, 4), Shape.of(3, 4)));
  }

  @Test
  void extentsThatDiffer() {
    assertEquals(
        "a has the extents 3,4 and c 3,5; along col they are 4 and 5, expected equal or 1",
        assertThrows(
                IllegalArgumentException.class,
                () -> matrices(Shape.of(3, 4), Shape.of(3, 1), Shape.of(3, 5)))
            .getMessage());
  }
}
