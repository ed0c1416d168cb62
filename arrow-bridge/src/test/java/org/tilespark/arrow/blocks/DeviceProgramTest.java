package org.tilespark.arrow.blocks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.tilespark.arrow.blocks.DeviceOperation.Compute;
import org.tilespark.arrow.blocks.DeviceOperation.Moves;
import org.tilespark.arrow.blocks.DeviceOperation.Reorder;
import org.tilespark.arrow.blocks.DeviceOperation.Transform;
import org.tilespark.arrow.blocks.Fourier.Direction;
import org.tilespark.arrow.blocks.Fourier.Form;
import org.tilespark.kernels.fourier.FourierProblem;
import org.tilespark.kernels.pointwise.FilterPrograms;
import org.tilespark.kernels.pointwise.FilterPrograms.Taken;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;

class DeviceProgramTest {
  private static final Shape CUBE = Shape.of(512, 512, 512);
  private static final long GIB = 1L << 30;

  private static DeviceProgram plan(Shape shape, boolean isComplex, BlockStep... steps) {
    return DeviceProgram.of(program(shape, isComplex, steps), 1, Transform::workLimit);
  }

  private static BlockProgram program(Shape shape, boolean isComplex, BlockStep... steps) {
    return new BlockProgram(shape, ElementType.FLOAT32, isComplex, List.of(steps));
  }

  private static List<DeviceOperation> operations(DeviceProgram plan) {
    return plan.steps().stream().map(DeviceProgram.Step::operation).toList();
  }

  private static Fourier complex(double scale, Integer... axes) {
    return new Fourier(List.of(axes), Form.COMPLEX, Direction.FORWARD, 0, scale);
  }

  private static Fourier real(Integer... axes) {
    return new Fourier(List.of(axes), Form.REAL, Direction.FORWARD, 0, 1);
  }

  private static List<double[]> vectors(Shape shape) {
    List<double[]> vectors = new ArrayList<>();
    for (long extent : shape.toArray()) {
      vectors.add(new double[(int) extent]);
    }
    return vectors;
  }

  @Test
  void aTransformInPlaceNeedsTheArrayAndAWorkArea() {
    DeviceProgram plan = plan(CUBE, true, complex(0.5, 0, 1, 2));
    assertEquals(1, operations(plan).size());
    assertEquals(List.of(GIB, GIB), plan.buffers());
    assertEquals(0.5, plan.factor());
    assertEquals(2 * GIB + 2 * DeviceStaging.STAGING_BYTES, plan.deviceBytes());
  }

  @Test
  void workAreasAreSmallerWhereMemoryIsScarce() {
    BlockProgram program = program(CUBE, true, complex(0.5, 0, 1, 2));
    DeviceProgram plan =
        DeviceProgram.of(program, DeviceStaging.SCARCE_SHARE, Transform::workLimit);
    assertEquals(List.of(GIB, GIB / 8), plan.buffers());
  }

  @Test
  void workAreasThatAreTrulyLarger() {
    DeviceProgram plan =
        DeviceProgram.of(program(CUBE, true, complex(1, 0, 1, 2)), 1, transform -> 3 * GIB);
    assertEquals(List.of(GIB, 3 * GIB), plan.buffers());
  }

  @Test
  void realValuesGoFromOneBufferToTheOther() {
    DeviceProgram plan = plan(CUBE, false, real(0, 1, 2));
    long half = 512L * 512 * 257 * 8;
    assertEquals(List.of(GIB / 2, half, half), plan.buffers());
  }

  /** The factors of transforms wait for elementwise steps, as programs in front of them. */
  @Test
  void factorsAreAppliedByElementwiseSteps() {
    Shape shape = Shape.of(4, 5, 6);
    ElementType type = ElementType.FLOAT32;
    Taken taken = new Taken(3, type, true);
    DeviceProgram plan =
        plan(
            shape,
            true,
            complex(0.25, 0),
            new Permute(Permutation.parse("yxz")),
            complex(2, 0),
            FilterSteps.window(type, true, vectors(Shape.of(5, 4, 6))),
            complex(0.5, 2),
            FilterSteps.power(3, type),
            new Roll(List.of(1L, 0L, 0L)));
    assertEquals(
        List.of(
            Transform.class,
            Reorder.class,
            Transform.class,
            Compute.class,
            Transform.class,
            Compute.class,
            Moves.class),
        operations(plan).stream().map(Object::getClass).toList());
    Compute window = assertInstanceOf(Compute.class, operations(plan).get(3));
    assertEquals(
        FilterPrograms.window(taken).behind(0, FilterPrograms.factor(taken, 0.5)),
        window.program());
    assertEquals(OptionalInt.of(0), window.inPlace());
    Compute power = assertInstanceOf(Compute.class, operations(plan).get(5));
    assertEquals(
        FilterPrograms.power(3, type).behind(0, FilterPrograms.factor(taken, 0.5)),
        power.program());
    assertEquals(OptionalInt.empty(), power.inPlace());
    assertEquals(1, plan.factor());
    assertEquals((4 + 5 + 6) * 8, plan.vectorBytes());
    assertEquals(2, plan.buffers().size());
  }

  @Test
  void whatChangesNothingCostsNothing() {
    Shape shape = Shape.of(4, 1, 6);
    DeviceProgram plan =
        plan(
            shape,
            true,
            new Roll(List.of(-4L, 17L, 12L)),
            new Pad(shape, List.of(0L, 0L, 0L)),
            OracleArray.crop(shape, List.of(0L, 0L, 0L)),
            new Permute(Permutation.parse("yxz")),
            new Permute(Permutation.parse("zxy")),
            new Permute(Permutation.parse("yzx")),
            complex(2, 0));
    assertEquals(List.of(), operations(plan));
    assertEquals(2, plan.factor());
    assertEquals(List.of(4L * 6 * 8), plan.buffers());
  }

  @Test
  void permutationsAreComposed() {
    DeviceProgram plan =
        plan(
            CUBE,
            true,
            new Permute(Permutation.parse("yzx")),
            new Permute(Permutation.parse("yzx")));
    Reorder only = assertInstanceOf(Reorder.class, operations(plan).get(0));
    assertEquals(1, operations(plan).size());
    assertEquals("zxy", only.permutation().letters());
  }

  @Test
  void theMiddleAxisOfManySlices() {
    List<DeviceOperation> many = operations(plan(CUBE, true, complex(1, 1)));
    assertEquals(
        List.of(Reorder.class, Transform.class, Reorder.class),
        many.stream().map(Object::getClass).toList());
    assertEquals(List.of(2), assertInstanceOf(Transform.class, many.get(1)).problem().axes());
    List<DeviceOperation> few = operations(plan(Shape.of(8, 512, 512), true, complex(1, 1)));
    assertEquals(1, few.size());
    List<DeviceOperation> large = operations(plan(Shape.of(64, 2048, 2048), true, complex(1, 1)));
    assertEquals(1, large.size());
  }

  @Test
  void theHalvedAxisComesLast() {
    DeviceProgram plan = plan(Shape.of(4, 6, 8), false, real(2, 0));
    List<DeviceOperation> operations = operations(plan);
    assertEquals(3, operations.size());
    FourierProblem problem = assertInstanceOf(Transform.class, operations.get(1)).problem();
    assertEquals(Shape.of(6, 8, 4), problem.shape());
    assertEquals(List.of(1, 2), problem.axes());
    assertEquals(Shape.of(3, 6, 8), operations.get(2).after().shape());
    DeviceProgram back =
        plan(
            Shape.of(3, 6, 8),
            true,
            new Fourier(List.of(2, 0), Form.REAL, Direction.INVERSE, 5, 1));
    assertEquals(3, operations(back).size());
    assertEquals(Shape.of(5, 6, 8), operations(back).get(2).after().shape());
  }

  @Test
  void halfOfNothing() {
    DeviceProgram plan = plan(Shape.of(4, 1), false, real(0, 1));
    Compute widened = assertInstanceOf(Compute.class, operations(plan).get(0));
    assertEquals(FilterPrograms.complex(2, ElementType.FLOAT32), widened.program());
    assertEquals(
        FourierProblem.Kind.FORWARD,
        assertInstanceOf(Transform.class, operations(plan).get(1)).problem().kind());
    DeviceProgram back =
        plan(Shape.of(4, 1), true, new Fourier(List.of(0, 1), Form.REAL, Direction.INVERSE, 1, 1));
    Compute narrowed = assertInstanceOf(Compute.class, operations(back).get(1));
    assertEquals(FilterPrograms.realPart(2, ElementType.FLOAT32), narrowed.program());
  }

  @Test
  void aRollMovesUpToEightBoxesAndLeavesNothingOut() {
    Shape shape = Shape.of(4, 5, 6);
    DeviceProgram plan = plan(shape, true, new Roll(List.of(1L, -1L, 3L)));
    Moves moves = assertInstanceOf(Moves.class, operations(plan).get(0));
    assertEquals(8, moves.moves().size());
    assertEquals(120, moves.moves().stream().mapToLong(move -> move.size().elements()).sum());
    assertTrue(!moves.leavesGaps());
  }

  @Test
  void smallArraysHaveSmallStaging() {
    long bytes = plan(Shape.of(8), true).deviceBytes();
    assertTrue(bytes < 200_000, "bytes " + bytes);
  }
}
