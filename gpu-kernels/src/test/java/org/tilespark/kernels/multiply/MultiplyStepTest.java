package org.tilespark.kernels.multiply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.tilespark.kernels.multiply.PlannerFixture.at;

import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;

class MultiplyStepTest {
  @Test
  void mapsThatCannotBe() {
    MultiplyStep.Place from = at(MultiplyStep.Side.A, 0);
    MultiplyStep.Element element = MultiplyStep.Element.FLOAT32;
    assertEquals(128, new MultiplyStep.TensorMap(from, element, 1, 1, 16, 32, 256).boxRowBytes());
    Exception e =
        assertThrows(
            IllegalArgumentException.class,
            () -> new MultiplyStep.TensorMap(from, element, 7, 5, 28, 32, 128));
    assertEquals(
        "Boxes of [32, 128] FLOAT32 of [7, 5], [28] bytes apart, cannot be copied", e.getMessage());
    assertThrows(
        IllegalArgumentException.class,
        () -> new MultiplyStep.TensorMap(from, element, 8, 5, 32, 32, 257));
    assertThrows(
        IllegalArgumentException.class,
        () -> new MultiplyStep.TensorMap(from, element, 8, 5, 32, 24, 128));
    assertThrows(
        IllegalArgumentException.class,
        () -> new MultiplyStep.TensorMap(from, element, 8, 5, 1L << 40, 32, 128));
    // Without swizzle rows of a box may have any number of whole 16 bytes.
    List<Long> sides = List.of(8L, 5L);
    new MultiplyStep.TensorMap(from, element, sides, List.of(32L), List.of(36, 1), false);
    assertThrows(
        IllegalArgumentException.class,
        () ->
            new MultiplyStep.TensorMap(from, element, sides, List.of(32L), List.of(38, 1), false));
    // As many strides as axes but one, a box of as many extents, and no more axes than there is
    // room for.
    List<Integer> box = List.of(32, 1, 1, 1, 1);
    for (int axes = 1; axes <= 5; axes++) {
      for (int strides = 1; strides <= 4; strides++) {
        List<Long> extents = Collections.nCopies(axes, 5L);
        List<Long> strideBytes = Collections.nCopies(strides, 16L);
        List<Integer> boxOfAxes = box.subList(0, axes);
        if (axes >= 2 && axes <= 4 && strides == axes - 1) {
          new MultiplyStep.TensorMap(from, element, extents, strideBytes, boxOfAxes);
          assertThrows(
              IllegalArgumentException.class,
              () ->
                  new MultiplyStep.TensorMap(
                      from, element, extents, strideBytes, box.subList(0, 1)));
        } else {
          assertThrows(
              IllegalArgumentException.class,
              () -> new MultiplyStep.TensorMap(from, element, extents, strideBytes, boxOfAxes));
        }
      }
    }
  }
}
