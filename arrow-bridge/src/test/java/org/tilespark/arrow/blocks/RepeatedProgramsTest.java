package org.tilespark.arrow.blocks;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.stream.IntStream;
import org.apache.arrow.memory.BufferAllocator;
import org.junit.jupiter.api.Test;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.arrow.blocks.DeviceOperation.Transform;
import org.tilespark.arrow.blocks.Fourier.Direction;
import org.tilespark.arrow.blocks.Fourier.Form;
import org.tilespark.arrow.pipeline.PipelineListener;
import org.tilespark.kernels.fourier.FourierPlanner;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.pointwise.ElementwiseCode;
import org.tilespark.kernels.pointwise.ElementwiseProgram;
import org.tilespark.kernels.reduce.BaseReduction;
import org.tilespark.layout.Box;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;

/** Equal arrays as one with a leading axis, as a device takes them, played through on the host. */
class RepeatedProgramsTest {
  private static final int COUNT = 3;

  /** Bit for bit. */
  @Test
  void programsWithoutTransforms() {
    int several = 0;
    int places = 0;
    for (int seed = 0; seed < 600; seed++) {
      Random random = new Random(seed);
      RandomPrograms programs = new RandomPrograms(random, false);
      BlockProgram program = programs.giving(programs.state(), 2);
      Optional<BlockProgram> all = program.repeated(COUNT);
      if (all.isEmpty()) {
        continue;
      }
      List<ByteArrayOutputStream> inputs = new ArrayList<>();
      program.inputs().forEach(any -> inputs.add(new ByteArrayOutputStream()));
      ByteArrayOutputStream expected = new ByteArrayOutputStream();
      for (int array = 0; array < COUNT; array++) {
        List<List<byte[]>> planes = new ArrayList<>();
        for (State input : program.inputs()) {
          List<byte[]> bits =
              PipelineFixture.bits(input.shape(), input.type(), input.isComplex(), random);
          inputs.get(planes.size()).writeBytes(ExactPlanes.interleaved(bits, input.type().bytes()));
          planes.add(bits);
        }
        expected.writeBytes(
            ExactPlanes.interleaved(
                ExactPlanes.result(program, planes.iterator()), program.output().type().bytes()));
      }
      DeviceProgram plan = DeviceProgram.of(all.get(), 1, Transform::workLimit);
      byte[] found =
          PlayedProgram.result(
              plan,
              plan.buffers(),
              inputs.stream().map(ByteArrayOutputStream::toByteArray).toList());
      assertArrayEquals(expected.toByteArray(), found, "seed " + seed + ": " + program);
      several += program.inputs().size() > 1 ? 1 : 0;
      places += program.toString().contains("Place") ? 1 : 0;
    }
    assertTrue(several > 50 && places > 10, several + " of several inputs, " + places + " places");
  }

  /** One plan of cuFFT does a pass over all arrays, whatever the axes. */
  @Test
  void transformsOfManyArraysAreFewCalls() {
    for (List<Integer> axes :
        List.of(
            List.of(0),
            List.of(1),
            List.of(2),
            List.of(0, 1),
            List.of(1, 2),
            List.of(2, 0),
            List.of(1, 0),
            List.of(0, 1, 2))) {
      for (Form form : Form.values()) {
        Shape shape = Shape.of(6, 9, 8);
        Fourier there = new Fourier(axes, form, Direction.FORWARD, 0, 0.5);
        int halved = axes.get(axes.size() - 1);
        Fourier back =
            new Fourier(
                axes, form, Direction.INVERSE, form == Form.REAL ? shape.extent(halved) : 0, 2);
        boolean isComplex = form == Form.COMPLEX;
        BlockProgram program =
            new BlockProgram(shape, ElementType.FLOAT64, isComplex, List.of(there, back));
        List<OracleArray> arrays =
            IntStream.range(0, 40)
                .mapToObj(seed -> OracleArray.random(shape, isComplex, ElementType.FLOAT64, seed))
                .toList();
        ByteArrayOutputStream input = new ByteArrayOutputStream();
        for (OracleArray array : arrays) {
          input.writeBytes(
              ExactPlanes.interleaved(PipelineFixture.bytes(array, ElementType.FLOAT64), 8));
        }
        DeviceProgram plan =
            DeviceProgram.of(program.repeated(arrays.size()).orElseThrow(), 1, any -> 100);
        for (DeviceProgram.Step step : plan.steps()) {
          if (step.operation() instanceof Transform transform) {
            FourierPlanner.passes(transform.problem(), 0)
                .forEach(pass -> assertEquals(1, pass.repeats(), program + ": " + pass));
          }
        }
        byte[] found = PlayedProgram.result(plan, plan.buffers(), List.of(input.toByteArray()));
        int bytes = (int) program.output().bytes();
        for (int i = 0; i < arrays.size(); i++) {
          byte[] each = Arrays.copyOfRange(found, i * bytes, (i + 1) * bytes);
          OracleArray result =
              OracleArray.ofBytes(
                  shape,
                  ElementType.FLOAT64,
                  ExactPlanes.planes(each, program.output().planes(), 8));
          for (int e = 0; e < result.re().length; e++) {
            result.re()[e] *= plan.factor();
            if (isComplex) {
              result.im()[e] *= plan.factor();
            }
          }
          OracleArray expected = OracleArray.result(program, List.of(arrays.get(i)).iterator());
          assertTrue(expected.relativeError(result) < 1e-12, program + ", array " + i);
        }
      }
    }
  }

  /**
   * Each base reduction with its merge, along all axes, of one array and of many: the same bits.
   */
  @Test
  void reductions() {
    Random random = new Random(3);
    try (HostTwin twin = new HostTwin();
        BufferAllocator allocator = twin.memory().newChild("test");
        BlockPipeline pipeline = twin.open(allocator, PipelineListener.NONE)) {
      for (Shape shape : List.of(Shape.of(33), Shape.of(9, 14), Shape.of(5, 7, 6))) {
        for (int mask = 1; mask < 1 << shape.rank(); mask++) {
          int along = mask;
          List<Integer> axes =
              IntStream.range(0, shape.rank())
                  .filter(axis -> (along >> axis & 1) == 1)
                  .boxed()
                  .toList();
          for (BaseReduction base : BaseReduction.values()) {
            BlockProgram program = SmallArraysContract.reduction(shape, axes, base);
            ByteArrayOutputStream input = new ByteArrayOutputStream();
            ByteArrayOutputStream expected = new ByteArrayOutputStream();
            for (int array = 0; array < COUNT; array++) {
              byte[] values = new byte[(int) program.input().bytes()];
              random.nextBytes(values);
              input.writeBytes(values);
              expected.writeBytes(result(pipeline, program, values));
            }
            BlockProgram all = program.repeated(COUNT).orElseThrow();
            assertArrayEquals(
                expected.toByteArray(),
                result(pipeline, all, input.toByteArray()),
                base + " along " + axes + " of " + shape);
          }
        }
      }
    }
  }

  private static byte[] result(BlockPipeline pipeline, BlockProgram program, byte[] values) {
    pipeline.begin(program);
    pipeline.putWhole(List.of(new Plane(HostMemory.ofArray(values))));
    pipeline.run(List.of(BlockPipeline.Part.whole(program.output().shape())));
    return SmallArraysContract.only(pipeline, program.output()).get(0);
  }

  /** Cells of a larger array share a program unless a place is looked for. */
  @Test
  void cellsAtOtherPlaces() {
    for (BaseReduction base : BaseReduction.values()) {
      ElementwiseCode itself = new ElementwiseCode();
      ElementwiseProgram of = itself.program(1, itself.input(ElementType.INT32));
      Reduce reduce =
          new Reduce(
              List.of(0), Shape.of(8), List.of(new Reduce.Base(base, of)), ElementType.FLOAT64);
      ArrayProgram program =
          new ArrayProgram(Shape.of(16), ElementType.INT32, false, List.of(reduce));
      BlockProgram first =
          program.binding().on(List.of(Box.at(new long[] {0}, new long[] {8})), null).program();
      BlockProgram second =
          program.binding().on(List.of(Box.at(new long[] {8}, new long[] {8})), null).program();
      boolean isPlace = base == BaseReduction.ARGMIN || base == BaseReduction.ARGMAX;
      assertEquals(isPlace, !first.equals(second), base.toString());
    }
  }
}
