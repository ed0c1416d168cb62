package org.tilespark.arrow.blocks;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.tilespark.arrow.blocks.BlockPipeline.Part;
import org.tilespark.arrow.blocks.Fourier.Direction;
import org.tilespark.arrow.blocks.Fourier.Form;
import org.tilespark.kernels.pointwise.BinaryFunction;
import org.tilespark.kernels.pointwise.ElementwiseProgram;
import org.tilespark.kernels.pointwise.FilterPrograms;
import org.tilespark.kernels.pointwise.FilterPrograms.Taken;
import org.tilespark.kernels.pointwise.Instruction;
import org.tilespark.layout.AxisRange;
import org.tilespark.layout.Box;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;

class BlockProgramTest {
  private static final Shape SHAPE = Shape.of(4, 6, 9);

  @Test
  void whatComesOut() {
    List<double[]> vectors = List.of(new double[4], new double[6], new double[9]);
    BlockProgram program =
        new BlockProgram(
            SHAPE,
            ElementType.FLOAT32,
            false,
            List.of(
                FilterSteps.trend(ElementType.FLOAT32, vectors, List.of()),
                FilterSteps.window(ElementType.FLOAT32, false, vectors),
                new Pad(Shape.of(4, 8, 11), List.of(0L, 1L, 2L)),
                new Roll(List.of(0L, -3L, 40L)),
                new Fourier(List.of(1, 2), Form.REAL, Direction.FORWARD, 0, 1),
                new Permute(Permutation.parse("yzx")),
                new Fourier(List.of(2), Form.COMPLEX, Direction.FORWARD, 0, 0.5),
                FilterSteps.lowPass(
                    ElementType.FLOAT32,
                    true,
                    List.of(new double[8], new double[6], new double[4]),
                    2),
                OracleArray.crop(Shape.of(8, 5, 1), List.of(0L, 1L, 3L)),
                FilterSteps.power(3, ElementType.FLOAT32)));
    List<Shape> shapes = program.states().stream().map(BlockProgram.State::shape).toList();
    assertEquals(
        List.of(
            SHAPE,
            SHAPE,
            SHAPE,
            Shape.of(4, 8, 11),
            Shape.of(4, 8, 11),
            Shape.of(4, 8, 6),
            Shape.of(8, 6, 4),
            Shape.of(8, 6, 4),
            Shape.of(8, 6, 4),
            Shape.of(8, 5, 1),
            Shape.of(8, 5, 1)),
        shapes);
    assertFalse(program.output().isComplex());
    assertEquals(Shape.of(8, 5, 1), program.output().shape());
    assertEquals(4L * 6 * 9 * 4, program.input().bytes());
    assertEquals(2 * 8L * 6 * 4 * 4, program.states().get(8).bytes());
    assertTrue(program.states().get(8).isComplex());
  }

  @Test
  void realTransformsOfAnyExtent() {
    for (long n = 1; n < 9; n++) {
      Fourier forward = new Fourier(List.of(0), Form.REAL, Direction.FORWARD, 0, 1);
      BlockProgram there = program(Shape.of(n), false, forward);
      assertEquals(Shape.of(n / 2 + 1), there.output().shape());
      Fourier back = new Fourier(List.of(0), Form.REAL, Direction.INVERSE, n, 1);
      assertEquals(Shape.of(n), program(there.output().shape(), true, back).output().shape());
    }
  }

  @Test
  void theChainItself() {
    assertRefused("1 to 4 axes", Shape.of(1, 2, 3, 4, 5), true);
    assertRefused("1 to 4 axes", Shape.of(), true);
    assertRefused("empty shape (4, 0, 2)", Shape.of(4, 0, 2), true);
  }

  @Test
  void whatMovesTakesEveryType() {
    List<BlockStep> moves =
        List.of(
            new Permute(Permutation.parse("yzx")),
            new Pad(Shape.of(6, 10, 4)),
            OracleArray.crop(Shape.of(6, 3, 4), List.of(0L, 5L, 0L)),
            new Roll(List.of(1L, 0L, 2L)));
    for (ElementType type : ElementType.values()) {
      BlockProgram program = new BlockProgram(SHAPE, type, true, moves);
      assertTrue(program.isPlanewise());
      assertTrue(moves.stream().allMatch(BlockStep::isBatched));
      assertEquals(Shape.of(6, 3, 4), program.output().shape());
    }
  }

  /** Vectors are hardly shared by two arrays, so what takes them goes alone. */
  @Test
  void whatGoesTogether() {
    Shape shape = Shape.of(4);
    ElementType type = ElementType.FLOAT32;
    ElementwiseProgram real = FilterPrograms.factor(new Taken(1, type, false), 2);
    ElementwiseBlock behind =
        assertInstanceOf(
            ElementwiseBlock.class, ElementwiseBlock.of(real, List.of()).repeated(5).orElseThrow());
    assertEquals(2, behind.program().rank());
    assertTrue(ElementwiseBlock.of(real, List.of()).isPlanewise());
    ElementwiseProgram place =
        new ElementwiseProgram(
            1,
            real.inputs(),
            List.of(),
            List.of(new Instruction.Place(0)),
            List.of(ElementwiseProgram.Output.real(0)));
    ElementwiseBlock window = FilterSteps.window(type, false, List.of(new double[4]));
    BlockProgram windowed = new BlockProgram(shape, type, false, List.of(window));
    for (BlockStep step :
        List.of(
            new Fourier(List.of(0), Form.COMPLEX, Direction.FORWARD, 0, 1),
            ElementwiseBlock.of(FilterPrograms.factor(new Taken(1, type, true), 2), List.of()),
            FilterSteps.power(1, type),
            ElementwiseBlock.of(FilterPrograms.complex(1, type), List.of()),
            ElementwiseBlock.of(place, List.of()),
            combined(new BlockProgram(shape, type, false, List.of())))) {
      assertFalse(step.isPlanewise(), step.toString());
      assertTrue(step.isBatched() && step.repeated(3).isPresent(), step.toString());
    }
    for (BlockStep step : List.of(window, combined(windowed))) {
      assertFalse(step.isBatched() || step.isPlanewise(), step.toString());
      assertEquals(Optional.empty(), step.repeated(3), step.toString());
    }
    assertEquals(Optional.empty(), windowed.repeated(3));
  }

  /** A block and another one. */
  private static ElementwiseBlock combined(BlockProgram other) {
    ElementwiseProgram.Input input = ElementwiseProgram.Input.of(other.type(), false);
    ElementwiseProgram sum =
        new ElementwiseProgram(
            1,
            List.of(input, input),
            List.of(),
            List.of(
                new Instruction.Load(0, 0),
                new Instruction.Load(1, 0),
                new Instruction.Binary(BinaryFunction.ADD, 0, 1)),
            List.of(ElementwiseProgram.Output.real(2)));
    return new ElementwiseBlock(sum, List.of(), List.of(0L), List.of(other));
  }

  @Test
  void stepsOnArraysBehindEachOther() {
    assertEquals(
        new Permute(Permutation.of(0, 2, 3, 1)),
        new Permute(Permutation.parse("yzx")).repeated(5).orElseThrow());
    assertEquals(
        new Pad(Shape.of(5, 3, 4), List.of(0L, 1L, 0L)),
        new Pad(Shape.of(3, 4), List.of(1L, 0L)).repeated(5).orElseThrow());
    assertEquals(
        OracleArray.crop(Shape.of(5, 3), List.of(0L, 2L)),
        OracleArray.crop(Shape.of(3), List.of(2L)).repeated(5).orElseThrow());
    assertEquals(
        new Slice(List.of(AxisRange.all(5), new AxisRange(9, -2, 3))),
        new Slice(List.of(new AxisRange(9, -2, 3))).repeated(5).orElseThrow());
    assertEquals(
        new Roll(List.of(0L, -1L, 7L)), new Roll(List.of(-1L, 7L)).repeated(5).orElseThrow());
  }

  /** Vectors of a whole array are cut to a part; elementwise steps that meet become one. */
  @Test
  void vectorsOnAPart() {
    Taken taken = new Taken(2, ElementType.FLOAT64, false);
    ElementwiseProgram window = FilterPrograms.window(taken);
    List<ArrayStep> steps =
        List.of(
            new Elementwise(
                window, List.of(new double[] {1, 2, 3}, new double[] {4, 5}), List.of(), "window"),
            new Permute(Permutation.of(1, 0)),
            new Elementwise(
                FilterPrograms.trend(taken),
                List.of(new double[] {6, 7}, new double[] {8, 9, 10}),
                List.of(),
                "trend"),
            new Elementwise(
                FilterPrograms.bandPass(taken, 0, 16),
                List.of(new double[] {11, 12}, new double[] {13, 14, 15}),
                List.of(),
                "low pass"));
    ArrayProgram program = new ArrayProgram(Shape.of(3, 2), ElementType.FLOAT64, false, steps);
    ArrayProgram.Part part =
        program.binding().on(List.of(Box.at(new long[] {1, 0}, new long[] {2, 2})), null);
    assertEquals(Box.at(new long[] {0, 1}, new long[] {2, 2}), part.place());
    List<BlockStep> bound = part.program().steps();
    assertEquals(3, bound.size());
    ElementwiseBlock first = assertInstanceOf(ElementwiseBlock.class, bound.get(0));
    assertEquals(window, first.program());
    assertVectors(first.vectors(), new double[] {2, 3}, new double[] {4, 5});
    assertVectors(
        assertInstanceOf(ElementwiseBlock.class, bound.get(2)).vectors(),
        new double[] {6, 7},
        new double[] {9, 10},
        new double[] {11, 12},
        new double[] {14, 15});
  }

  private static void assertVectors(List<double[]> found, double[]... expected) {
    assertEquals(expected.length, found.size());
    for (int i = 0; i < expected.length; i++) {
      assertArrayEquals(expected[i], found.get(i));
    }
  }

  @Test
  void stepsThatDoNotFit() {
    double[] four = new double[4];
    double[] six = new double[6];
    double[] nine = new double[9];
    assertRefused(
        "takes complex numbers",
        SHAPE,
        false,
        new Fourier(List.of(0), Form.COMPLEX, Direction.FORWARD, 0, 1));
    assertRefused(
        "takes real values",
        SHAPE,
        true,
        new Fourier(List.of(0), Form.REAL, Direction.FORWARD, 0, 1));
    assertRefused(
        "expected one or more, each once",
        SHAPE,
        true,
        new Fourier(List.of(1, 1), Form.COMPLEX, Direction.FORWARD, 0, 1));
    assertRefused(
        "over axis 3 of shape",
        SHAPE,
        true,
        new Fourier(List.of(3), Form.COMPLEX, Direction.FORWARD, 0, 1));
    assertRefused(
        "expected 16 or 17 real values",
        SHAPE,
        true,
        new Fourier(List.of(2), Form.REAL, Direction.INVERSE, 18, 1));
    assertRefused(
        "the factor is NaN",
        SHAPE,
        true,
        new Fourier(List.of(2), Form.COMPLEX, Direction.INVERSE, 0, Double.NaN));
    assertRefused("has 2 axes, found 3", SHAPE, true, new Permute(Permutation.of(1, 0)));
    assertRefused(
        "vectors of [4, 9, 9] numbers along axes [0, 1, 2] of (4, 6, 9)",
        SHAPE,
        true,
        FilterSteps.window(ElementType.FLOAT64, true, List.of(four, nine, nine)));
    assertRefused(
        "vectors of [4, 6] numbers",
        SHAPE,
        true,
        ElementwiseBlock.of(
            FilterPrograms.window(new Taken(3, ElementType.FLOAT64, true)), List.of(four, six)));
    assertRefused(
        "array 0 is complex FLOAT64 (4, 6, 9); expected real FLOAT64 (4, 6, 9)",
        SHAPE,
        true,
        FilterSteps.trend(ElementType.FLOAT64, List.of(four, six, nine), List.of()));
    assertRefused(
        "names 1 axes",
        SHAPE,
        true,
        FilterSteps.lowPass(ElementType.FLOAT64, true, List.of(four), 1));
    assertRefused(
        "(4, 6, 9) from [0, 0, 1] on does not lie inside (4, 6, 9)",
        SHAPE,
        true,
        new Pad(SHAPE, List.of(0L, 0L, 1L)));
    assertRefused("names 2 axes", SHAPE, true, new Roll(List.of(1L, 2L)));
    assertRefused("names 1 axes", SHAPE, true, new Slice(List.of(AxisRange.all(4))));
    List<AxisRange> beyond = List.of(AxisRange.all(4), AxisRange.all(7), AxisRange.all(1));
    assertRefused("does not lie inside (4, 6, 9) along axis 1", SHAPE, true, new Slice(beyond));
    assertRefused(
        "Step 2 of 2 (ElementwiseBlock) on real FLOAT64 (4, 6, 9)",
        SHAPE,
        true,
        FilterSteps.power(3, ElementType.FLOAT64),
        FilterSteps.power(3, ElementType.FLOAT64));
  }

  @Test
  void partsLieInside() {
    Part.whole(SHAPE).requireInside(SHAPE);
    assertEquals(4L * 6 * 9, Part.whole(SHAPE).elements());
    for (Part part :
        List.of(
            new Part(List.of(0L, 0L), List.of(1L, 1L)),
            new Part(List.of(0L, 0L, 1L), List.of(4L, 6L, 9L)),
            new Part(List.of(0L, 0L, 0L), List.of(4L, 0L, 9L)),
            new Part(List.of(0L, -1L, 0L), List.of(1L, 1L, 1L)),
            new Part(List.of(0L, 0L, 0L), List.of(Long.MAX_VALUE, 6L, 9L)))) {
      assertThrows(IllegalArgumentException.class, () -> part.requireInside(SHAPE));
    }
  }

  private static BlockProgram program(Shape shape, boolean isComplex, BlockStep... steps) {
    return new BlockProgram(shape, ElementType.FLOAT64, isComplex, List.of(steps));
  }

  private static void assertRefused(
      String expected, Shape shape, boolean isComplex, BlockStep... steps) {
    IllegalArgumentException refused =
        assertThrows(IllegalArgumentException.class, () -> program(shape, isComplex, steps));
    assertTrue(refused.getMessage().contains(expected), refused.getMessage());
  }
}
