package org.tilespark.kernels.host;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.pointwise.ElementwiseProgram;
import org.tilespark.kernels.pointwise.FilterPrograms;
import org.tilespark.kernels.pointwise.FilterPrograms.Taken;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;

/** Filters on the CPU, bit for bit as their formulas in double precision. */
class FilterProgramsTest {
  private static final double[] SPECIAL = {
    -0.0, 0.0, Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY, 1e30, 1e-30
  };

  private final HostElementwise host = new HostElementwise();

  /** The parts of an element, and one number per axis for each part, outermost of 3 axes first. */
  private interface Formula {
    double[] parts(double[] parts, double[][] numbers);
  }

  @Test
  void windows() {
    assertAgrees(
        FilterPrograms::window,
        1,
        1,
        (parts, v) -> {
          double factor = v[0][0] * v[0][1] * v[0][2];
          return new double[] {parts[0] * factor, parts[1] * factor};
        });
  }

  @Test
  void trends() {
    assertAgrees(
        FilterPrograms::trend,
        2,
        0,
        (parts, v) ->
            new double[] {
              parts[0] - (v[0][0] + v[0][1] + v[0][2]), parts[1] - (v[1][0] + v[1][1] + v[1][2])
            });
  }

  @Test
  void lowPasses() {
    assertAgrees(
        taken -> FilterPrograms.bandPass(taken, 0, 0.7),
        1,
        0,
        (parts, v) -> v[0][0] + v[0][1] + v[0][2] > 0.7 ? new double[2] : parts);
  }

  @Test
  void bandPasses() {
    assertAgrees(
        taken -> FilterPrograms.bandPass(taken, 0.2, 0.7),
        1,
        0,
        (parts, v) -> {
          double sum = v[0][0] + v[0][1] + v[0][2];
          return sum < 0.2 || sum > 0.7 ? new double[2] : parts;
        });
  }

  @Test
  void factors() {
    assertAgrees(
        taken -> FilterPrograms.factor(taken, 1 / 3.0),
        0,
        0,
        (parts, v) -> new double[] {parts[0] * (1 / 3.0), parts[1] * (1 / 3.0)});
  }

  @Test
  void partsAndSquares() {
    for (ElementType type : List.of(ElementType.FLOAT32, ElementType.FLOAT64)) {
      assertAgrees(
          FilterPrograms.power(2, type),
          new Taken(2, type, true),
          0,
          (parts, v) -> new double[] {parts[0] * parts[0] + parts[1] * parts[1]});
      assertAgrees(
          FilterPrograms.realPart(2, type),
          new Taken(2, type, true),
          0,
          (parts, v) -> new double[] {parts[0]});
      assertAgrees(
          FilterPrograms.complex(2, type),
          new Taken(2, type, false),
          0,
          (parts, v) -> new double[] {parts[0], 0});
    }
  }

  @Test
  void integersAreRefused() {
    assertThrows(IllegalArgumentException.class, () -> new Taken(2, ElementType.INT32, false));
  }

  private void assertAgrees(
      Function<Taken, ElementwiseProgram> program,
      int vectorsOfAxis,
      double neutral,
      Formula formula) {
    for (int rank = 1; rank <= 3; rank++) {
      for (ElementType type : List.of(ElementType.FLOAT32, ElementType.FLOAT64)) {
        for (boolean isComplex : new boolean[] {false, true}) {
          Taken taken = new Taken(rank, type, isComplex);
          ElementwiseProgram made = program.apply(taken);
          assertEquals(
              vectorsOfAxis == 2 && !isComplex ? rank : rank * vectorsOfAxis,
              made.vectors().size());
          assertAgrees(made, taken, neutral, formula);
        }
      }
    }
  }

  private void assertAgrees(
      ElementwiseProgram program, Taken taken, double neutral, Formula formula) {
    Random random = new Random(taken.rank());
    int[] extents = {1, 1, 1};
    for (int axis = 3 - taken.rank(); axis < 3; axis++) {
      extents[axis] = 3 + axis;
    }
    int elements = extents[0] * extents[1] * extents[2];
    double[][] parts = new double[taken.isComplex() ? 2 : 1][];
    List<HostMemory> input = new ArrayList<>();
    for (int p = 0; p < parts.length; p++) {
      parts[p] = numbers(elements, random);
      input.add(memory(taken.type(), parts[p]));
    }
    List<double[]> vectors = new ArrayList<>();
    for (int axis : program.vectors()) {
      vectors.add(numbers(extents[3 - taken.rank() + axis], random));
    }
    double[][] expected = new double[program.outputs().get(0).isComplex() ? 2 : 1][elements];
    for (int at = 0; at < elements; at++) {
      int[] index = {at / extents[2] / extents[1], at / extents[2] % extents[1], at % extents[2]};
      double[][] numbers = {{neutral, neutral, neutral}, {neutral, neutral, neutral}};
      for (int v = 0; v < vectors.size(); v++) {
        int axis = 3 - taken.rank() + program.vectors().get(v);
        numbers[v / taken.rank()][axis] = vectors.get(v)[index[axis]];
      }
      double[] element = {parts[0][at], parts.length == 2 ? parts[1][at] : 0};
      double[] result = formula.parts(element, numbers);
      for (int p = 0; p < expected.length; p++) {
        expected[p][at] = result[p];
      }
    }
    List<HostMemory> found = new ArrayList<>();
    for (double[] part : expected) {
      found.add(memory(taken.type(), new double[part.length]));
    }
    long[] shape = new long[taken.rank()];
    for (int axis = 0; axis < shape.length; axis++) {
      shape[axis] = extents[3 - taken.rank() + axis];
    }
    host.run(
        program, Shape.of(shape), new long[shape.length], vectors, List.of(input), List.of(found));
    for (int p = 0; p < expected.length; p++) {
      Object values = found.get(p).base();
      if (taken.type() == ElementType.FLOAT32) {
        float[] rounded = new float[elements];
        for (int i = 0; i < elements; i++) {
          rounded[i] = (float) expected[p][i];
        }
        assertArrayEquals(rounded, (float[]) values, taken + ", part " + p);
      } else {
        assertArrayEquals(expected[p], (double[]) values, taken + ", part " + p);
      }
    }
  }

  private static double[] numbers(int count, Random random) {
    double[] numbers = new double[count];
    for (int i = 0; i < count; i++) {
      numbers[i] =
          random.nextInt(4) == 0
              ? SPECIAL[random.nextInt(SPECIAL.length)]
              : (float) random.nextGaussian();
    }
    return numbers;
  }

  private static HostMemory memory(ElementType type, double[] values) {
    if (type == ElementType.FLOAT64) {
      return HostMemory.ofArray(values.clone());
    }
    float[] floats = new float[values.length];
    for (int i = 0; i < floats.length; i++) {
      floats[i] = (float) values[i];
    }
    return HostMemory.ofArray(floats);
  }
}
