package org.tilespark.arrow.blocks;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.tilespark.arrow.blocks.BlockPipeline.Part;
import org.tilespark.arrow.blocks.Fourier.Direction;
import org.tilespark.arrow.blocks.Fourier.Form;
import org.tilespark.layout.AxisRange;
import org.tilespark.layout.Box;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;

/** Slices of a whole array on its parts, and joined with other steps. */
class SliceTest {
  private static final ElementType TYPE = ElementType.FLOAT64;
  private static final List<String> ORDERS = List.of("xyz", "xzy", "yxz", "yzx", "zxy", "zyx");

  private static Slice random(Shape shape, Random random) {
    List<AxisRange> ranges = new ArrayList<>();
    for (long extent : shape.toArray()) {
      long start = random.nextInt((int) extent);
      long step = (1 + random.nextInt(4)) * (random.nextBoolean() ? 1L : -1L);
      long room = (step > 0 ? extent - 1 - start : start) / Math.abs(step);
      ranges.add(
          random.nextInt(3) == 0
              ? AxisRange.all(extent)
              : new AxisRange(start, step, 1 + random.nextInt((int) room + 1)));
    }
    return new Slice(ranges);
  }

  private static ArrayProgram program(Shape shape, List<ArrayStep> steps) {
    return new ArrayProgram(shape, TYPE, false, steps);
  }

  private static OracleArray whole(OracleArray array, List<ArrayStep> steps) {
    return array.after(steps.stream().map(step -> (BlockStep) step).toList());
  }

  /** The result of a program on an array that comes in parts, put together. */
  private static OracleArray inParts(OracleArray array, ArrayProgram program, Random random) {
    Shape shape = program.output().shape();
    double[] result = new double[(int) shape.elements()];
    Arrays.fill(result, Double.NaN);
    ArrayProgram.Binding binding = program.binding();
    for (Part part : ArrayParts.cut(array.shape(), random)) {
      Box box =
          Box.at(
              part.low().stream().mapToLong(Long::longValue).toArray(),
              part.size().stream().mapToLong(Long::longValue).toArray());
      if (binding.keeps(box)) {
        ArrayProgram.Part bound = binding.on(List.of(box), null);
        OracleArray piece = array.part(part).after(bound.program().steps());
        assertEquals(piece.shape(), Shape.of(bound.place().sizes()));
        paste(piece, bound.place(), shape, result);
      }
    }
    return new OracleArray(shape, result, null);
  }

  private static void paste(OracleArray piece, Box place, Shape shape, double[] result) {
    long[] index = new long[shape.rank()];
    for (double value : piece.re()) {
      long[] at = index.clone();
      Arrays.setAll(at, axis -> index[axis] + place.low(axis));
      int to = (int) BoxMoves.element(shape, at);
      assertTrue(Double.isNaN(result[to]), "element " + Arrays.toString(at) + " is there twice");
      result[to] = value;
      for (int axis = index.length - 1;
          axis >= 0 && ++index[axis] == piece.shape().extent(axis);
          axis--) {
        index[axis] = 0;
      }
    }
  }

  @Test
  void partsOfAnyCutGiveTheSlice() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    for (int n = 0; n < 300; n++) {
      Shape shape = Shape.of(1 + random.nextInt(9), 1 + random.nextInt(12), 1 + random.nextInt(15));
      List<ArrayStep> steps = new ArrayList<>();
      ArrayProgram joined = program(shape, List.of());
      Shape at = shape;
      for (int i = 1 + random.nextInt(4); i > 0; i--) {
        BlockStep step =
            random.nextInt(3) == 0
                ? new Permute(Permutation.parse(ORDERS.get(random.nextInt(6))))
                : random(at, random);
        steps.add(step);
        joined = joined.then(program(at, List.of(step)));
        at = joined.output().shape();
      }
      OracleArray array = OracleArray.random(shape, false, TYPE, seed + n);
      double[] expected = whole(array, steps).re();
      String what = "seed " + seed + ": " + steps + " on " + shape;
      assertArrayEquals(expected, inParts(array, program(shape, steps), random).re(), what);
      assertArrayEquals(expected, inParts(array, joined, random).re(), what + " as " + joined);
      assertTrue(joined.steps().size() <= 2, what + " as " + joined);
    }
  }

  @Test
  void oneSliceGoesBeforeOnePermutation() {
    Shape shape = Shape.of(10, 20, 30);
    ArrayProgram order = program(shape, List.of(new Permute(Permutation.parse("yzx"))));
    Slice slice =
        new Slice(List.of(AxisRange.all(20), new AxisRange(29, -2, 4), new AxisRange(3, 1, 5)));
    ArrayProgram both = order.then(program(Shape.of(20, 30, 10), List.of(slice)));
    assertEquals("slice 3:8, 0:20, 29:22:-2, permute yzx", both.toString());
    Slice again =
        new Slice(List.of(new AxisRange(2, 3, 4), new AxisRange(3, -1, 2), AxisRange.all(5)));
    assertEquals(
        "slice 3:8, 2:12:3, 23:26:2, permute yzx",
        both.then(program(Shape.of(20, 4, 5), List.of(again))).toString());
  }

  @Test
  void axesAreWholeOrSliced() {
    Shape shape = Shape.of(10, 20, 30);
    Slice slice =
        new Slice(List.of(AxisRange.all(10), new AxisRange(4, 1, 8), new AxisRange(29, -1, 30)));
    Fourier transform = new Fourier(List.of(0, 1), Form.COMPLEX, Direction.FORWARD, 0, 1);
    ArrayProgram program =
        new ArrayProgram(
            shape, TYPE, true, List.of(slice, new Permute(Permutation.parse("yxz")), transform));
    assertEquals(new ArrayProgram.CutAxes(Set.of(0), Set.of(1, 2)), program.cutAxes());
    ArrayProgram.Binding binding = program.binding();
    Box holdsTheSlice = Box.at(new long[] {0, 3, 10}, new long[] {10, 12, 5});
    assertEquals(
        Box.at(new long[] {0, 0, 15}, new long[] {8, 10, 5}),
        binding.on(List.of(holdsTheSlice), null).place());
    Box holdsAPart = Box.at(new long[] {0, 5, 10}, new long[] {10, 12, 5});
    Exception refused =
        assertThrows(IllegalArgumentException.class, () -> binding.on(List.of(holdsAPart), null));
    assertTrue(refused.getMessage().contains("the block has 7"), refused.getMessage());
    assertFalse(binding.keeps(Box.at(new long[] {0, 12, 0}, new long[] {10, 8, 30})));
  }

  @Test
  void shapesOfFullBlocks() {
    Shape shape = Shape.of(16, 16, 16);
    Slice slice =
        new Slice(
            List.of(new AxisRange(4, 1, 12), new AxisRange(1, 2, 8), new AxisRange(13, -1, 14)));
    ArrayProgram program = program(shape, List.of(slice, new Permute(Permutation.parse("zxy"))));
    assertEquals(Shape.of(4, 4, 2), program.blockShape(Shape.of(4, 4, 4)));
    assertEquals(Shape.of(14, 12, 8), program.blockShape(shape));
  }
}
