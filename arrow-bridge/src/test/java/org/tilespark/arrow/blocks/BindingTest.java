package org.tilespark.arrow.blocks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.pointwise.ElementwiseCode;
import org.tilespark.kernels.reduce.BaseReduction;
import org.tilespark.layout.Box;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;

/** Bindings of a part are reused for the next one at the same place, and for no other. */
class BindingTest {
  private static final Box UPPER = Box.between(new long[] {0, 0}, new long[] {4, 6});
  private static final Box LOWER = Box.between(new long[] {4, 0}, new long[] {8, 6});

  @Test
  void partsAtOnePlaceShareAProgram() {
    ElementwiseCode itself = new ElementwiseCode();
    Reduce sums =
        new Reduce(
            List.of(0),
            Shape.of(4, 6),
            List.of(
                new Reduce.Base(
                    BaseReduction.ARGMAX, itself.program(2, itself.input(ElementType.FLOAT64)))),
            ElementType.FLOAT64);
    ArrayProgram program =
        new ArrayProgram(Shape.of(8, 6), ElementType.FLOAT64, false, List.of(sums));
    ArrayProgram.Binding binding = program.binding();
    ArrayProgram.Part upper = binding.on(List.of(UPPER), null);
    assertSame(upper, binding.on(List.of(Box.at(UPPER.offset(), UPPER.sizes())), null));
    ArrayProgram.Part lower = binding.on(List.of(LOWER), null);
    assertNotSame(upper, lower);
    assertEquals(Box.between(new long[] {2, 0}, new long[] {4, 6}), lower.place());
    assertEquals(
        List.of(4L), ((ReduceBlock) lower.program().steps().get(0)).low(), "where it begins");
    assertEquals(upper, binding.on(List.of(UPPER), null));
  }

  @Test
  void aTrendIsNotRemembered() {
    ArrayProgram program =
        new ArrayProgram(Shape.of(8, 6), ElementType.FLOAT64, false, List.of(Roll.by(0, 1)));
    ArrayProgram.Binding binding = program.binding();
    ArrayProgram.Part plain = binding.on(List.of(UPPER), null);
    assertNotSame(plain, binding.on(List.of(UPPER), new double[6]));
    assertSame(plain, binding.on(List.of(UPPER), null));
  }
}
