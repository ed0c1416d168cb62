package org.tilespark.kernels.host;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.pointwise.BinaryFunction;
import org.tilespark.kernels.pointwise.ElementwiseCases;
import org.tilespark.kernels.pointwise.ElementwiseCases.Block;
import org.tilespark.kernels.pointwise.ElementwiseProgram;
import org.tilespark.kernels.pointwise.ElementwiseProgram.Input;
import org.tilespark.kernels.pointwise.ElementwiseProgram.Output;
import org.tilespark.kernels.pointwise.Instruction;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;

/** Chunks, rows and shared arrays, against one element after the other. */
class HostElementwiseTest {
  private final HostElementwise host = new HostElementwise();

  @Test
  void productAndSumInPlace() {
    ElementwiseProgram program =
        new ElementwiseProgram(
            2,
            List.of(Input.of(ElementType.FLOAT64, false), Input.of(ElementType.FLOAT64, false)),
            List.of(),
            List.of(
                new Instruction.Load(0, 0),
                new Instruction.Load(1, 0),
                new Instruction.Binary(BinaryFunction.MULTIPLY, 0, 1),
                Instruction.Constant.of(1.0),
                new Instruction.Binary(BinaryFunction.ADD, 2, 3)),
            List.of(Output.real(4)));
    int count = 2 * HostCode.CHUNK + 2;
    double[] x = new Random(1).doubles(count).toArray();
    double[] y = new Random(2).doubles(count).toArray();
    double[] expected = new double[count];
    for (int i = 0; i < count; i++) {
      expected[i] = x[i] * y[i] + 1;
    }
    List<HostMemory> plane = List.of(HostMemory.ofArray(x));
    host.run(
        program,
        Shape.of(2, count / 2),
        new long[2],
        List.of(),
        List.of(plane, List.of(HostMemory.ofArray(y))),
        List.of(plane));
    assertArrayEquals(expected, x);
  }

  @Test
  void everyFunctionOnEveryType() {
    Random random = new Random(3);
    for (ElementwiseProgram program : ElementwiseCases.ofOneStep()) {
      assertRuns(program, Shape.of(HostCode.CHUNK + 77), random);
    }
  }

  @Test
  void randomPrograms() {
    for (int seed = 0; seed < 400; seed++) {
      Random random = new Random(seed);
      ElementwiseProgram program = ElementwiseCases.random(random);
      assertRuns(program, shape(program.rank(), random), random);
    }
  }

  private static Shape shape(int rank, Random random) {
    long[] extents = new long[rank];
    long elements = 1;
    for (int axis = rank - 1; axis >= 0; axis--) {
      long most = Math.max(1, Math.min(3000 / elements, random.nextInt(3) == 0 ? 3000 : 12));
      extents[axis] = 1L + random.nextInt((int) most);
      elements *= extents[axis];
    }
    return Shape.of(extents);
  }

  private void assertRuns(ElementwiseProgram program, Shape shape, Random random) {
    Block block = ElementwiseCases.block(program, shape, random);
    List<List<HostMemory>> inputs = new ArrayList<>();
    for (int i = 0; i < block.inputs().size(); i++) {
      ElementType type = program.inputs().get(i).type();
      inputs.add(
          block.inputs().get(i).stream()
              .map(bits -> HostMemory.ofArray(ElementwiseCases.packed(type, bits)))
              .toList());
    }
    List<List<HostMemory>> outputs = new ArrayList<>();
    for (Output output : program.outputs()) {
      int bytes = (int) shape.elements() * program.types().get(output.real()).bytes();
      outputs.add(
          output.isComplex()
              ? List.of(HostMemory.ofArray(new byte[bytes]), HostMemory.ofArray(new byte[bytes]))
              : List.of(HostMemory.ofArray(new byte[bytes])));
    }
    host.run(program, shape, block.origin(), block.vectors(), inputs, outputs);
    List<List<long[]>> found = new ArrayList<>();
    for (int o = 0; o < outputs.size(); o++) {
      ElementType type = program.types().get(program.outputs().get(o).real());
      found.add(
          outputs.get(o).stream()
              .map(plane -> ElementwiseCases.unpacked(type, (byte[]) plane.base()))
              .toList());
    }
    assertEquals(
        "",
        ElementwiseCases.difference(
            program, block, ElementwiseCases.results(program, block), found));
  }

  @Test
  void nothingOfAnEmptyArray() {
    ElementwiseProgram program = ElementwiseCases.cast(ElementType.INT8, ElementType.FLOAT64);
    List<List<HostMemory>> none = List.of(List.of(HostMemory.ofArray(new byte[0])));
    host.run(program, Shape.of(0), new long[1], List.of(), none, none);
  }

  @Test
  void mistakes() {
    ElementwiseProgram program =
        new ElementwiseProgram(
            2,
            List.of(new Input(ElementType.FLOAT32, true, Set.of(0))),
            List.of(1),
            List.of(new Instruction.Load(0, 1), new Instruction.AxisValue(0)),
            List.of(Output.real(1)));
    List<HostMemory> row =
        List.of(HostMemory.ofArray(new float[3]), HostMemory.ofArray(new float[3]));
    List<HostMemory> out = List.of(HostMemory.ofArray(new double[6]));
    List<double[]> vectors = List.of(new double[3]);
    Shape shape = Shape.of(2, 3);
    host.run(program, shape, new long[2], vectors, List.of(row), List.of(out));
    assertRefused("axes", program, Shape.of(6), vectors, List.of(row), List.of(out));
    assertRefused("vectors", program, shape, List.of(), List.of(row), List.of(out));
    assertRefused("vector 0", program, shape, List.of(new double[2]), List.of(row), List.of(out));
    assertRefused("inputs", program, shape, vectors, List.of(), List.of(out));
    assertRefused("input 0", program, shape, vectors, List.of(out), List.of(out));
    assertRefused("output 0", program, shape, vectors, List.of(row), List.of(row));
  }

  private void assertRefused(
      String what,
      ElementwiseProgram program,
      Shape shape,
      List<double[]> vectors,
      List<List<HostMemory>> inputs,
      List<List<HostMemory>> outputs) {
    IllegalArgumentException refusal =
        assertThrows(
            IllegalArgumentException.class,
            () -> host.run(program, shape, new long[2], vectors, inputs, outputs));
    assertEquals(true, refusal.getMessage().contains(what), refusal.getMessage());
  }
}
