package org.tilespark.kernels.host;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.Random;
import java.util.Set;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.pointwise.ElementwiseCases;
import org.tilespark.kernels.reduce.Reduction;
import org.tilespark.kernels.reduce.ReductionCases;
import org.tilespark.kernels.reduce.ReductionProblem;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;

/** Sums, extremes and their places against their definitions, bit by bit. */
class HostReducerTest {
  private final HostReducer reducer = new HostReducer();

  @Test
  void everyTypeAndRank() {
    Random random = new Random(1);
    for (ElementType type : ElementType.values()) {
      for (Reduction reduction : Reduction.values()) {
        for (int rank = 1; rank <= 4; rank++) {
          for (int i = 0; i < 12; i++) {
            long[] extents = new long[rank];
            for (int axis = 0; axis < rank; axis++) {
              extents[axis] = 1L + random.nextInt(rank == 1 ? 5000 : rank == 2 ? 150 : 12);
            }
            assertReduces(
                new ReductionProblem(
                    Shape.of(extents), ReductionCases.axes(rank, random), type, reduction),
                random);
          }
        }
      }
    }
  }

  @Test
  void treesOfTrees() {
    Random random = new Random(2);
    for (ElementType type : new ElementType[] {ElementType.FLOAT32, ElementType.FLOAT64}) {
      for (int length : new int[] {1023, 1024, 1025, 2048, 5000, 1024 * 1024 + 1, 1100 * 1024}) {
        assertReduces(
            new ReductionProblem(Shape.of(length), Set.of(0), type, Reduction.SUM), random);
      }
      // Sequences across rows, side by side, longer than a tree.
      assertReduces(
          new ReductionProblem(Shape.of(3000, 50), Set.of(0), type, Reduction.SUM), random);
      assertReduces(
          new ReductionProblem(Shape.of(70, 3, 40), Set.of(0, 2), type, Reduction.SUM), random);
      assertReduces(
          new ReductionProblem(Shape.of(2, 2100, 40), Set.of(1), type, Reduction.ARGMAX), random);
      assertReduces(
          new ReductionProblem(Shape.of(5000, 3), Set.of(1), type, Reduction.MINIMUM), random);
    }
  }

  /** Two numbers a row at the ends of the tree: a chain of additions would lose them. */
  @Test
  void errorsGrowAsTheLogarithm() {
    int count = 1 << 22;
    float[] values = new float[count];
    Arrays.fill(values, 0.1f);
    double[] sum = new double[1];
    reducer.reduce(
        new ReductionProblem(Shape.of(count), Set.of(0), ElementType.FLOAT32, Reduction.SUM),
        HostMemory.ofArray(values),
        HostMemory.ofArray(sum));
    assertEquals(count * (double) 0.1f, sum[0], 0);
  }

  @Test
  void ofNothing() {
    double[] sums = {1, 2, 3};
    reducer.reduce(
        new ReductionProblem(Shape.of(0, 3), Set.of(0), ElementType.FLOAT64, Reduction.SUM),
        HostMemory.ofArray(new double[0]),
        HostMemory.ofArray(sums));
    assertArrayEquals(new double[3], sums);
    IllegalArgumentException refusal =
        assertThrows(
            IllegalArgumentException.class,
            () ->
                new ReductionProblem(
                    Shape.of(0, 3), Set.of(0), ElementType.FLOAT64, Reduction.MAXIMUM));
    assertTrue(refusal.getMessage().contains("there are no elements"), refusal.getMessage());
    reducer.reduce(
        new ReductionProblem(Shape.of(0, 3), Set.of(1), ElementType.FLOAT64, Reduction.MAXIMUM),
        HostMemory.ofArray(new double[0]),
        HostMemory.ofArray(new double[0]));
  }

  @Test
  void firstPlacesWin() {
    double[] values = {0.0, -0.0, 5, 5, Double.NaN, 7, Double.NaN};
    assertPlaces(0, Reduction.ARGMIN, Arrays.copyOf(values, 4));
    assertPlaces(2, Reduction.ARGMAX, Arrays.copyOf(values, 4));
    assertPlaces(4, Reduction.ARGMIN, values);
    assertPlaces(4, Reduction.ARGMAX, values);
  }

  private void assertPlaces(long expected, Reduction reduction, double... values) {
    long[] found = new long[1];
    reducer.reduce(
        new ReductionProblem(Shape.of(values.length), Set.of(0), ElementType.FLOAT64, reduction),
        HostMemory.ofArray(values),
        HostMemory.ofArray(found));
    assertEquals(expected, found[0]);
  }

  @Test
  void mistakes() {
    ReductionProblem problem =
        new ReductionProblem(Shape.of(2, 3), Set.of(1), ElementType.INT8, Reduction.SUM);
    HostMemory six = HostMemory.ofArray(new byte[6]);
    HostMemory sixteen = HostMemory.ofArray(new long[2]);
    reducer.reduce(problem, six, sixteen);
    assertThrows(IllegalArgumentException.class, () -> reducer.reduce(problem, sixteen, sixteen));
    assertThrows(IllegalArgumentException.class, () -> reducer.reduce(problem, six, six));
    assertThrows(
        IllegalArgumentException.class,
        () -> new ReductionProblem(Shape.of(2), Set.of(), ElementType.INT8, Reduction.SUM));
    assertThrows(
        IllegalArgumentException.class,
        () -> new ReductionProblem(Shape.of(2), Set.of(1), ElementType.INT8, Reduction.SUM));
  }

  private void assertReduces(ReductionProblem problem, Random random) {
    long[] array =
        ReductionCases.numbers(
            problem.type(), (int) problem.shape().elements(), random.nextInt(4) == 0, random);
    byte[] out = new byte[(int) problem.outputShape().elements() * problem.outputType().bytes()];
    reducer.reduce(
        problem,
        HostMemory.ofArray(ElementwiseCases.packed(problem.type(), array)),
        HostMemory.ofArray(out));
    assertArrayEquals(
        comparable(problem.outputType(), ReductionCases.results(problem, array)),
        comparable(problem.outputType(), ElementwiseCases.unpacked(problem.outputType(), out)),
        problem::toString);
  }

  private static long[] comparable(ElementType type, long[] bits) {
    return LongStream.of(bits).map(each -> ElementwiseCases.comparable(type, each)).toArray();
  }
}
