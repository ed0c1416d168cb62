package org.tilespark.arrow.blocks;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.apache.arrow.memory.ArrowBuf;
import org.junit.jupiter.api.Test;
import org.tilespark.arrow.blocks.BlockPipeline.Part;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.arrow.blocks.Fourier.Direction;
import org.tilespark.arrow.blocks.Fourier.Form;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.pointwise.BinaryFunction;
import org.tilespark.kernels.pointwise.ElementwiseProgram;
import org.tilespark.kernels.pointwise.ElementwiseProgram.Input;
import org.tilespark.kernels.pointwise.ElementwiseProgram.Output;
import org.tilespark.kernels.pointwise.FilterPrograms;
import org.tilespark.kernels.pointwise.FilterPrograms.Taken;
import org.tilespark.kernels.pointwise.Instruction;
import org.tilespark.layout.Box;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;

/**
 * Programs with elementwise steps, of one input and of several: every bit of what has no transform
 * ({@link ExactPlanes}), but for which NaN it is.
 */
abstract class ElementwisePipelineContract extends PipelineFixture {
  private static final ElementType FLOAT = ElementType.FLOAT32;

  // Random programs

  /** Put and taken whole and in parts, in any order, every type in and out. */
  @Test
  void programsWithoutTransforms() {
    for (int seed = 0; seed < 250; seed++) {
      Random random = new Random(seed);
      RandomPrograms programs = new RandomPrograms(random, false);
      BlockProgram program = programs.giving(programs.state(), 2);
      List<List<byte[]>> inputs = randomInputs(program, random);
      List<byte[]> expected = ExactPlanes.result(program, inputs.iterator());
      begin(program, inputs, random);
      Shape result = program.output().shape();
      List<Part> outputs =
          random.nextBoolean() ? List.of(Part.whole(result)) : ArrayParts.cut(result, random);
      pipeline.run(outputs);
      for (Part part : outputs) {
        assertSame(part, program.output(), expected, "seed " + seed + ": " + program);
      }
    }
  }

  @Test
  void programsWithTransforms() {
    for (int seed = 0; seed < 200; seed++) {
      Random random = new Random(seed);
      RandomPrograms programs = new RandomPrograms(random, true);
      BlockProgram program = programs.giving(programs.state(), 2);
      List<OracleArray> arrays = new ArrayList<>();
      List<List<byte[]>> inputs = new ArrayList<>();
      for (State input : program.inputs()) {
        OracleArray array =
            OracleArray.random(input.shape(), input.isComplex(), input.type(), seed);
        arrays.add(array);
        inputs.add(bytes(array, input.type()));
      }
      begin(program, inputs, random);
      State output = program.output();
      Part whole = Part.whole(output.shape());
      pipeline.run(List.of(whole));
      OracleArray found = taken(whole.size(), output.type(), output.isComplex());
      double error = OracleArray.result(program, arrays.iterator()).relativeError(found);
      assertTrue(error < 2e-5, "seed " + seed + ": error " + error + " of " + program);
    }
  }

  static List<List<byte[]>> randomInputs(BlockProgram program, Random random) {
    List<List<byte[]>> inputs = new ArrayList<>();
    for (State input : program.inputs()) {
      inputs.add(bits(input.shape(), input.type(), input.isComplex(), random));
    }
    return inputs;
  }

  /** Begins an array and puts its inputs, some parts of one between those of others. */
  private void begin(BlockProgram program, List<List<byte[]>> inputs, Random random) {
    record Put(int input, Part part) {}
    List<Put> puts = new ArrayList<>();
    for (int i = 0; i < inputs.size(); i++) {
      Shape shape = program.inputs().get(i).shape();
      List<Part> parts =
          random.nextBoolean() ? List.of(Part.whole(shape)) : ArrayParts.cut(shape, random);
      for (Part part : parts) {
        puts.add(new Put(i, part));
      }
    }
    Collections.shuffle(puts, random);
    pipeline.begin(program);
    for (Put each : puts) {
      State input = program.inputs().get(each.input());
      put(
          each.input(),
          each.part(),
          input.shape(),
          input.type(),
          inputs.get(each.input()),
          random.nextBoolean());
    }
  }

  // Types

  /** Small arrays that go together, large ones in slices, and parts; every type to every other. */
  @Test
  void everyTypeBecomesEveryOther() {
    Random random = new Random(1);
    for (ElementType from : ElementType.values()) {
      for (ElementType to : ElementType.values()) {
        ElementwiseBlock doubled = doubled(from, to, 3);
        for (Shape shape : List.of(Shape.of(2, 3, 5), Shape.of(31, 40, 50))) {
          BlockProgram program =
              new BlockProgram(
                  shape, from, false, List.of(new Permute(Permutation.parse("zxy")), doubled));
          Deque<List<byte[]>> expected = new ArrayDeque<>();
          Shape result = program.output().shape();
          for (int i = 0; i < 5; i++) {
            while (pipeline.isFull()) {
              assertSame(
                  Part.whole(result), program.output(), expected.remove(), from + " to " + to);
            }
            List<List<byte[]>> inputs = randomInputs(program, random);
            expected.add(ExactPlanes.result(program, inputs.iterator()));
            pipeline.begin(program);
            put(Part.whole(shape), shape, from, inputs.get(0), i % 2 == 0);
            pipeline.run(List.of(Part.whole(result)));
          }
          while (!expected.isEmpty()) {
            assertSame(Part.whole(result), program.output(), expected.remove(), from + " to " + to);
          }
        }
      }
    }
  }

  private static ElementwiseBlock doubled(ElementType from, ElementType to, int rank) {
    return ElementwiseBlock.of(
        new ElementwiseProgram(
            rank,
            List.of(Input.of(from, false)),
            List.of(),
            List.of(
                new Instruction.Load(0, 0),
                new Instruction.Binary(BinaryFunction.ADD, 0, 0),
                new Instruction.Cast(to, 1)),
            List.of(Output.real(2))),
        List.of());
  }

  /** Large parts, pinned or not, of complex numbers and of results of another type. */
  @Test
  void largeArraysOfSeveralInputs() {
    Random random = new Random(2);
    Shape shape = Shape.of(40, 60, 70);
    for (ElementType type : List.of(ElementType.INT16, ElementType.FLOAT64)) {
      Input column = new Input(type, true, Set.of(1, 2));
      ElementwiseProgram sum = sum(3, List.of(Input.of(type, true), column), FLOAT);
      BlockProgram other = new BlockProgram(Shape.of(40, 1, 1), type, true, List.of());
      BlockProgram program =
          new BlockProgram(
              shape,
              type,
              true,
              List.of(new ElementwiseBlock(sum, List.of(), zeros(3), List.of(other))));
      List<List<byte[]>> inputs = randomInputs(program, random);
      List<byte[]> expected = ExactPlanes.result(program, inputs.iterator());
      for (boolean owned : new boolean[] {true, false}) {
        pipeline.begin(program);
        for (Part part : ArrayParts.grid(shape, 17, 60, 70)) {
          put(0, part, shape, type, inputs.get(0), owned);
        }
        put(1, Part.whole(other.shape()), other.shape(), type, inputs.get(1), owned);
        List<Part> outputs = new ArrayList<>(ArrayParts.grid(shape, 40, 31, 70));
        outputs.add(Part.whole(shape));
        pipeline.run(outputs);
        for (Part part : outputs) {
          assertSame(part, program.output(), expected, type + ", owned " + owned);
        }
      }
    }
  }

  /** The sum of the real parts of all inputs, and of the last parts. */
  private static ElementwiseProgram sum(int rank, List<Input> inputs, ElementType type) {
    List<Instruction> code = new ArrayList<>();
    int re = -1;
    int im = -1;
    for (int i = 0; i < inputs.size(); i++) {
      code.add(new Instruction.Load(i, 0));
      code.add(new Instruction.Cast(type, code.size() - 1));
      int first = code.size() - 1;
      code.add(new Instruction.Load(i, inputs.get(i).isComplex() ? 1 : 0));
      code.add(new Instruction.Cast(type, code.size() - 1));
      int last = code.size() - 1;
      if (i == 0) {
        re = first;
        im = last;
        continue;
      }
      code.add(new Instruction.Binary(BinaryFunction.ADD, re, first));
      re = code.size() - 1;
      code.add(new Instruction.Binary(BinaryFunction.ADD, im, last));
      im = code.size() - 1;
    }
    boolean isComplex = inputs.stream().anyMatch(Input::isComplex);
    return new ElementwiseProgram(
        rank, inputs, List.of(), code, List.of(isComplex ? new Output(re, im) : Output.real(re)));
  }

  private static List<Long> zeros(int rank) {
    return Collections.nCopies(rank, 0L);
  }

  // Several arrays

  /** Rows, columns and a single number as the second operand of an array. */
  @Test
  void repeatedOperands() {
    Random random = new Random(3);
    Shape shape = Shape.of(5, 7);
    List<Input> inputs =
        List.of(
            Input.of(FLOAT, false),
            new Input(ElementType.INT8, false, Set.of(0)),
            new Input(ElementType.FLOAT64, false, Set.of(1)),
            new Input(ElementType.INT64, false, Set.of(0, 1)));
    List<BlockProgram> others = new ArrayList<>();
    for (Input input : inputs.subList(1, 4)) {
      others.add(new BlockProgram(input.shape(shape), input.type(), false, List.of()));
    }
    BlockProgram program =
        new BlockProgram(
            shape,
            FLOAT,
            false,
            List.of(
                new ElementwiseBlock(
                    sum(2, inputs, ElementType.FLOAT64), List.of(), zeros(2), others)));
    List<List<byte[]>> values = randomInputs(program, random);
    List<byte[]> expected = ExactPlanes.result(program, values.iterator());
    begin(program, values, random);
    pipeline.run(List.of(Part.whole(shape)));
    assertSame(Part.whole(shape), program.output(), expected, "repeated operands");
  }

  /** Also of an input that is moved first, and that nobody puts. */
  @Test
  void whatIsNotPutOfSeveralIsZero() {
    Shape shape = Shape.of(4, 6);
    Input input = Input.of(FLOAT, false);
    BlockProgram other =
        new BlockProgram(Shape.of(6, 4), FLOAT, false, List.of(new Permute(Permutation.of(1, 0))));
    BlockProgram program =
        new BlockProgram(
            shape,
            FLOAT,
            false,
            List.of(
                new ElementwiseBlock(
                    sum(2, List.of(input, input), FLOAT), List.of(), zeros(2), List.of(other))));
    List<byte[]> ones = PipelineFixture.bytes(filled(shape, 1), FLOAT);
    for (int put = 0; put < 2; put++) {
      pipeline.begin(program);
      put(
          put,
          Part.whole(program.inputs().get(put).shape()),
          program.inputs().get(put).shape(),
          FLOAT,
          ones,
          false);
      pipeline.run(List.of(Part.whole(shape)));
      assertSame(Part.whole(shape), program.output(), ones, "put " + put);
    }
    pipeline.begin(program);
    pipeline.run(List.of(Part.whole(shape)));
    List<byte[]> none = PipelineFixture.bytes(filled(shape, 0), FLOAT);
    assertSame(Part.whole(shape), program.output(), none, "nothing put");
  }

  private static OracleArray filled(Shape shape, double value) {
    double[] values = new double[(int) shape.elements()];
    Arrays.fill(values, value);
    return new OracleArray(shape, values, null);
  }

  @Test
  void partsOfOtherInputsThatDoNotFit() {
    Input input = Input.of(FLOAT, false);
    BlockProgram other = new BlockProgram(Shape.of(4), ElementType.INT8, false, List.of());
    BlockProgram program =
        new BlockProgram(
            Shape.of(4),
            FLOAT,
            false,
            List.of(
                new ElementwiseBlock(
                    sum(1, List.of(input, Input.of(ElementType.INT8, false)), FLOAT),
                    List.of(),
                    zeros(1),
                    List.of(other))));
    pipeline.begin(program);
    Plane four = new Plane(HostMemory.ofArray(new byte[4]));
    assertThrows(IllegalArgumentException.class, () -> pipeline.putWhole(0, List.of(four)));
    assertThrows(IllegalArgumentException.class, () -> pipeline.putWhole(1, List.of(four, four)));
    Part outside = new Part(List.of(2L), List.of(4L));
    assertThrows(IllegalArgumentException.class, () -> pipeline.put(1, outside, List.of(four)));
    pipeline.putWhole(1, List.of(four));
    pipeline.run(List.of(Part.whole(Shape.of(4))));
    pipeline.take().forEach(ArrowBuf::close);
  }

  // Parts of a whole array

  /** Places, vectors and another array's parts are those of each part, however it is cut. */
  @Test
  void partsAgreeWithTheWhole() {
    Random random = new Random(4);
    Shape shape = Shape.of(6, 7, 8);
    Shape turned = Shape.of(7, 8, 6);
    Taken taken = new Taken(3, FLOAT, false);
    ElementwiseProgram place =
        new ElementwiseProgram(
            3,
            List.of(Input.of(FLOAT, false)),
            List.of(1),
            List.of(
                new Instruction.Load(0, 0),
                new Instruction.Place(2),
                new Instruction.Cast(FLOAT, 1),
                new Instruction.Binary(BinaryFunction.MULTIPLY, 0, 2),
                new Instruction.AxisValue(0),
                new Instruction.Cast(FLOAT, 4),
                new Instruction.Binary(BinaryFunction.ADD, 3, 5)),
            List.of(Output.real(6)));
    Input row = new Input(FLOAT, false, Set.of(0, 1));
    ArrayProgram second =
        new ArrayProgram(
            Shape.of(6, 1, 1),
            ElementType.INT32,
            false,
            List.of(
                new Permute(Permutation.parse("yzx")), doubledOfArray(ElementType.INT32, FLOAT)));
    ArrayProgram third =
        new ArrayProgram(
            shape,
            FLOAT,
            false,
            List.of(
                new Permute(Permutation.parse("yzx")),
                new Elementwise(FilterPrograms.factor(taken, 0.3), "third")));
    ArrayProgram program =
        new ArrayProgram(
            shape,
            FLOAT,
            false,
            List.of(
                new Elementwise(FilterPrograms.window(taken), vectors(shape, 1), List.of(), "w"),
                new Permute(Permutation.parse("yzx")),
                new Elementwise(place, List.of(vectors(turned, 2).get(1)), List.of(), "place"),
                new Elementwise(
                    sum(3, List.of(Input.of(FLOAT, false), row, Input.of(FLOAT, false)), FLOAT),
                    List.of(),
                    List.of(second, third),
                    "sum"),
                new Elementwise(FilterPrograms.factor(taken, 3), "factor")));
    List<BlockProgram> wholes = List.of(bound(program, whole(shape), whole(Shape.of(6, 1, 1))));
    List<List<byte[]>> inputs = randomInputs(wholes.get(0), random);
    List<byte[]> expected = ExactPlanes.result(wholes.get(0), inputs.iterator());
    assertEquals(3, wholes.get(0).steps().size(), "steps that meet are one");
    for (Part part : ArrayParts.grid(shape, 4, 3, 5)) {
      long[] low = part.low().stream().mapToLong(Long::longValue).toArray();
      long[] size = part.size().stream().mapToLong(Long::longValue).toArray();
      Box box = Box.at(low, size);
      Part ofRow = new Part(List.of(low[0], 0L, 0L), List.of(size[0], 1L, 1L));
      Box rowBox = Box.at(new long[] {low[0], 0, 0}, new long[] {size[0], 1, 1});
      ArrayProgram.Part on = program.binding().on(List.of(box, rowBox, box), null);
      pipeline.begin(on.program());
      List<State> states = on.program().inputs();
      putDense(0, part, states.get(0), shape, inputs.get(0));
      putDense(1, ofRow, states.get(1), Shape.of(6, 1, 1), inputs.get(1));
      putDense(2, part, states.get(2), shape, inputs.get(2));
      pipeline.run(List.of(Part.whole(on.program().output().shape())));
      Part at = Part.at(on.place().offset(), on.place().sizes());
      assertSame(at, new State(turned, FLOAT, false), expected, "part " + part);
    }
  }

  private static Elementwise doubledOfArray(ElementType from, ElementType to) {
    return new Elementwise(doubled(from, to, 3).program(), "doubled");
  }

  private static Box whole(Shape shape) {
    return Box.at(new long[shape.rank()], shape.toArray());
  }

  private static BlockProgram bound(ArrayProgram program, Box box, Box row) {
    return program.binding().on(List.of(box, row, box), null).program();
  }

  /** Puts a part of a whole array as all of a block. */
  private void putDense(int input, Part part, State state, Shape array, List<byte[]> planes) {
    List<byte[]> dense = new ArrayList<>();
    for (byte[] plane : planes) {
      dense.add(ArrayParts.dense(part, array, state.type().bytes(), plane));
    }
    put(input, Part.whole(state.shape()), state.shape(), state.type(), dense, input % 2 == 0);
  }

  // A chain

  /** {@code map, permute, zip, fft, map, ifft, crop} of a volume and another one. */
  static BlockProgram chain(Shape shape) {
    Taken real = new Taken(3, FLOAT, false);
    Shape turned = Permutation.parse("yzx").apply(shape);
    Input input = Input.of(FLOAT, false);
    BlockProgram other = new BlockProgram(turned, FLOAT, false, List.of());
    long last = turned.extent(2);
    double norm = 1.0 / (double) shape.elements();
    List<BlockStep> steps =
        List.of(
            ElementwiseBlock.of(FilterPrograms.factor(real, 0.5), List.of()),
            new Permute(Permutation.parse("yzx")),
            new ElementwiseBlock(
                sum(3, List.of(input, input), FLOAT), List.of(), zeros(3), List.of(other)),
            new Fourier(List.of(0, 1, 2), Form.REAL, Direction.FORWARD, 0, 1),
            ElementwiseBlock.of(FilterPrograms.factor(new Taken(3, FLOAT, true), 2), List.of()),
            new Fourier(List.of(0, 1, 2), Form.REAL, Direction.INVERSE, last, norm),
            OracleArray.crop(
                Shape.of(turned.extent(0) - 2, turned.extent(1), last), List.of(1L, 0L, 0L)));
    return new BlockProgram(shape, FLOAT, false, steps);
  }

  @Test
  void aChainOfTwoVolumes() {
    BlockProgram program = chain(Shape.of(16, 20, 24));
    List<OracleArray> arrays = new ArrayList<>();
    List<List<byte[]>> inputs = new ArrayList<>();
    for (State input : program.inputs()) {
      arrays.add(OracleArray.random(input.shape(), false, FLOAT, arrays.size()));
      inputs.add(bytes(arrays.get(arrays.size() - 1), FLOAT));
    }
    begin(program, inputs, new Random(5));
    Part whole = Part.whole(program.output().shape());
    pipeline.run(List.of(whole));
    OracleArray found = taken(whole.size(), FLOAT, false);
    double error = OracleArray.result(program, arrays.iterator()).relativeError(found);
    assertTrue(error < 1e-6, "error " + error);
  }

  // Helpers

  /** Takes a part and compares its bits, all NaNs alike. */
  private void assertSame(Part part, State state, List<byte[]> planes, String what) {
    List<ArrowBuf> taken = pipeline.take();
    int width = state.type().bytes();
    try {
      assertEquals(planes.size(), taken.size(), what);
      for (int p = 0; p < planes.size(); p++) {
        byte[] found = new byte[(int) (part.elements() * width)];
        taken.get(p).getBytes(0, found);
        byte[] expected = ArrayParts.dense(part, state.shape(), width, planes.get(p));
        assertArrayEquals(
            numbers(state.type(), expected),
            numbers(state.type(), found),
            () -> what + ", " + part);
      }
    } finally {
      taken.forEach(ArrowBuf::close);
    }
  }

  static byte[] numbers(ElementType type, byte[] bytes) {
    ByteBuffer numbers = ByteBuffer.wrap(bytes.clone()).order(ByteOrder.nativeOrder());
    for (int at = 0; at < bytes.length; at += type.bytes()) {
      if (type == ElementType.FLOAT32 && Float.isNaN(numbers.getFloat(at))) {
        numbers.putFloat(at, Float.NaN);
      } else if (type == ElementType.FLOAT64 && Double.isNaN(numbers.getDouble(at))) {
        numbers.putDouble(at, Double.NaN);
      }
    }
    return numbers.array();
  }
}
