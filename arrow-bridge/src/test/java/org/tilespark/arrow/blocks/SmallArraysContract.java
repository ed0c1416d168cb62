package org.tilespark.arrow.blocks;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Random;
import org.apache.arrow.memory.ArrowBuf;
import org.junit.jupiter.api.Test;
import org.tilespark.arrow.blocks.BlockPipeline.Part;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.arrow.blocks.Fourier.Direction;
import org.tilespark.arrow.blocks.Fourier.Form;
import org.tilespark.arrow.pipeline.Closing;
import org.tilespark.arrow.pipeline.PipelineListener;
import org.tilespark.arrow.pipeline.Rooms;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.pointwise.ElementwiseCode;
import org.tilespark.kernels.pointwise.ElementwiseProgram;
import org.tilespark.kernels.reduce.BaseReduction;
import org.tilespark.layout.Box;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;

/** Many small arrays one after the other: the results are those of each array alone. */
abstract class SmallArraysContract extends PipelineFixture {
  /** An array that was run, and what each of its parts must be. */
  private record Expected(
      BlockProgram program, List<Part> parts, List<byte[]> planes, ArrowBuf room) {}

  private final Deque<Expected> underWay = new ArrayDeque<>();

  @Test
  void randomProgramsOfOneAndOfSeveralArrays() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    int batched = 0;
    for (int round = 0; round < 60 || (batched <= 5 && round < 1000); round++) {
      RandomPrograms programs = new RandomPrograms(random, false);
      BlockProgram program = programs.giving(programs.state(), 2);
      batched += program.repeated(2).isPresent() && !program.isPlanewise() ? 1 : 0;
      boolean inRooms = random.nextBoolean();
      for (int i = 1 + random.nextInt(60); i > 0; i--) {
        awaitRoom(random, seed);
        List<List<byte[]>> inputs = ElementwisePipelineContract.randomInputs(program, random);
        Shape result = program.output().shape();
        List<Part> parts = // of few arrays nothing is asked for
            random.nextInt(20) == 0
                ? List.of()
                : random.nextInt(4) == 0
                    ? ArrayParts.cut(result, random)
                    : List.of(Part.whole(result));
        run(program, inputs, parts, inRooms && parts.size() == 1, random);
        if (!parts.isEmpty()) {
          List<byte[]> planes = ExactPlanes.result(program, inputs.iterator());
          underWay.add(new Expected(program, parts, planes, room));
        }
      }
      assertTrue(pipeline.inFlight() <= underWay.size(), "seed " + seed);
    }
    assertAll(seed);
    assertTrue(batched > 5, "batched " + batched + ", seed " + seed);
  }

  private ArrowBuf room; // of the array that was run last; null if it has none

  /** Puts an array, whole or in parts, and runs it. */
  private void run(
      BlockProgram program,
      List<List<byte[]>> inputs,
      List<Part> parts,
      boolean inRoom,
      Random random) {
    pipeline.begin(program);
    List<State> states = program.inputs();
    for (int input = 0; input < states.size(); input++) {
      Shape shape = states.get(input).shape();
      List<Part> puts =
          random.nextInt(4) == 0 ? ArrayParts.cut(shape, random) : List.of(Part.whole(shape));
      for (Part part : puts) {
        put(input, part, shape, states.get(input).type(), inputs.get(input), random.nextBoolean());
      }
    }
    State output = program.output();
    room = inRoom ? allocator.buffer(output.bytes()) : null;
    List<HostMemory> planes = new ArrayList<>();
    for (int p = 0; inRoom && p < output.planes(); p++) {
      long start = room.memoryAddress() + p * output.planeBytes();
      planes.add(HostMemory.ofAddress(start, output.planeBytes()));
    }
    pipeline.run(parts, inRoom ? number -> planes : Rooms.NONE);
  }

  private void awaitRoom(Random random, long seed) {
    while (pipeline.isFull() || (!underWay.isEmpty() && random.nextInt(100) == 0)) {
      assertNext(seed);
    }
  }

  private void assertAll(long seed) {
    while (!underWay.isEmpty()) {
      assertNext(seed);
    }
    assertEquals(0, pipeline.inFlight());
  }

  private void assertNext(long seed) {
    Expected expected = underWay.remove();
    State state = expected.program().output();
    for (Part part : expected.parts()) {
      List<ArrowBuf> taken = pipeline.take();
      try {
        for (int p = 0; p < state.planes(); p++) {
          byte[] found = new byte[(int) (part.elements() * state.type().bytes())];
          boolean isInRoom = expected.room() != null;
          (isInRoom ? expected.room() : taken.get(p))
              .getBytes(isInRoom ? p * state.planeBytes() : 0, found);
          byte[] dense =
              ArrayParts.dense(part, state.shape(), state.type().bytes(), expected.planes().get(p));
          assertArrayEquals(
              ElementwisePipelineContract.numbers(state.type(), dense),
              ElementwisePipelineContract.numbers(state.type(), found),
              () -> "seed " + seed + ", " + part + " of " + expected.program());
        }
      } finally {
        Closing.all(taken);
        if (expected.room() != null) {
          expected.room().close();
        }
      }
    }
  }

  /** All results of an array that is put whole. */
  static List<byte[]> only(BlockPipeline pipeline, State state) {
    List<ArrowBuf> taken = pipeline.take();
    List<byte[]> planes = new ArrayList<>();
    for (ArrowBuf plane : taken) {
      byte[] bytes = new byte[(int) state.planeBytes()];
      plane.getBytes(0, bytes);
      planes.add(bytes);
    }
    Closing.all(taken);
    return planes;
  }

  /** The bits do not depend on how many arrays are transformed, nor on what went before. */
  @Test
  void transformsHaveTheBitsOfOneArrayAlone() {
    Random random = new Random(7);
    List<BlockProgram> programs = new ArrayList<>();
    for (ElementType type : List.of(ElementType.FLOAT32, ElementType.FLOAT64)) {
      for (List<Integer> axes :
          List.of(
              List.of(0),
              List.of(1),
              List.of(2),
              List.of(0, 1),
              List.of(2, 0),
              List.of(1, 2),
              List.of(0, 1, 2))) {
        for (Form form : Form.values()) {
          Fourier there = new Fourier(axes, form, Direction.FORWARD, 0, 0.5);
          Fourier back =
              new Fourier(
                  axes,
                  form,
                  Direction.INVERSE,
                  form == Form.REAL ? Shape.of(6, 9, 8).extent(axes.get(axes.size() - 1)) : 0,
                  2);
          boolean isComplex = form == Form.COMPLEX;
          programs.add(new BlockProgram(Shape.of(6, 9, 8), type, isComplex, List.of(there)));
          programs.add(new BlockProgram(Shape.of(6, 9, 8), type, isComplex, List.of(there, back)));
        }
      }
    }
    for (BlockProgram program : programs) {
      List<OracleArray> arrays = new ArrayList<>();
      List<List<byte[]>> alone = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        arrays.add(
            OracleArray.random(
                program.shape(), program.isComplex(), program.type(), random.nextLong()));
        runWhole(pipeline, program, arrays.get(i));
        alone.add(only(pipeline, program.output()));
      }
      Deque<Integer> order = new ArrayDeque<>();
      for (int i = 0; i < 50 || !order.isEmpty(); i++) {
        while (!order.isEmpty() && (i >= 50 || pipeline.isFull())) {
          int which = order.remove();
          List<byte[]> found = only(pipeline, program.output());
          for (int p = 0; p < found.size(); p++) {
            assertArrayEquals(alone.get(which).get(p), found.get(p), program.toString());
          }
        }
        if (i < 50) {
          order.add(random.nextInt(3));
          runWhole(pipeline, program, arrays.get(order.getLast()));
        }
      }
      OracleArray expected = OracleArray.result(program, List.of(arrays.get(0)).iterator());
      OracleArray found =
          OracleArray.ofBytes(program.output().shape(), program.type(), alone.get(0));
      assertTrue(
          expected.relativeError(found) < bound(program.shape(), program.type()),
          program.toString());
    }
  }

  private void runWhole(BlockPipeline to, BlockProgram program, OracleArray array) {
    to.begin(program);
    List<Plane> planes = new ArrayList<>();
    bytes(array, program.type()).forEach(each -> planes.add(new Plane(HostMemory.ofArray(each))));
    to.putWhole(planes);
    to.run(List.of(Part.whole(program.output().shape())));
  }

  /** Each base reduction, and its merge, of arrays that are one cell each: the bits of the CPU. */
  @Test
  void reductionsOfArraysThatAreOneBlockEach() {
    Random random = new Random(8);
    List<Shape> shapes = List.of(Shape.of(33), Shape.of(9, 14), Shape.of(5, 7, 6));
    for (Shape shape : shapes) {
      for (int mask = 1; mask < 1 << shape.rank(); mask++) {
        List<Integer> axes = new ArrayList<>();
        for (int axis = 0; axis < shape.rank(); axis++) {
          if ((mask >> axis & 1) == 1) {
            axes.add(axis);
          }
        }
        for (BaseReduction base : BaseReduction.values()) {
          BlockProgram program = reduction(shape, axes, base);
          assertTrue(program.repeated(9).isPresent());
          List<List<byte[]>> expected = new ArrayList<>();
          try (HostTwin host = new HostTwin();
              BlockPipeline cpu = host.open(allocator, PipelineListener.NONE)) {
            List<OracleArray> arrays = new ArrayList<>();
            for (int i = 0; i < 40; i++) {
              arrays.add(OracleArray.random(shape, false, ElementType.FLOAT32, random.nextLong()));
              runWhole(cpu, program, arrays.get(i));
              expected.add(only(cpu, program.output()));
            }
            int taken = 0;
            for (OracleArray array : arrays) {
              for (; pipeline.isFull(); taken++) {
                assertArrayEquals(
                    expected.get(taken).get(0), only(pipeline, program.output()).get(0));
              }
              runWhole(pipeline, program, array);
            }
            for (; taken < arrays.size(); taken++) {
              assertArrayEquals(
                  expected.get(taken).get(0),
                  only(pipeline, program.output()).get(0),
                  base + " along " + axes + " of " + shape + ", array " + taken);
            }
          }
        }
      }
    }
  }

  /** A reduction of arrays that are one cell, and a number of its state as the result. */
  static BlockProgram reduction(Shape shape, List<Integer> axes, BaseReduction base) {
    ElementwiseCode itself = new ElementwiseCode();
    ElementwiseProgram of = itself.program(shape.rank(), itself.input(ElementType.FLOAT32));
    ElementwiseCode finish = new ElementwiseCode();
    int last = -1;
    for (int number = 0; number < base.numbers(); number++) {
      last = finish.input(ElementType.FLOAT64);
    }
    ArrayProgram program =
        new ArrayProgram(
            shape,
            ElementType.FLOAT32,
            false,
            List.of(
                new Reduce(axes, shape, List.of(new Reduce.Base(base, of)), ElementType.FLOAT64),
                new Merge(axes, List.of(base), finish.program(shape.rank(), last))));
    return program
        .binding()
        .on(List.of(Box.at(new long[shape.rank()], shape.toArray())), null)
        .program();
  }
}
