package org.tilespark.kernels.reduce;

import java.util.HashSet;
import java.util.Random;
import java.util.Set;
import org.tilespark.kernels.pointwise.ElementwiseCases;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;

/** Reductions with what comes out of them, by their definitions. */
public final class ReductionCases {
  private ReductionCases() {}

  /** Some axes of an array of a rank, at least one. */
  public static Set<Integer> axes(int rank, Random random) {
    Set<Integer> axes = new HashSet<>(Set.of(random.nextInt(rank)));
    for (int axis = 0; axis < rank; axis++) {
      if (random.nextBoolean()) {
        axes.add(axis);
      }
    }
    return axes;
  }

  /** Bits of numbers for an array; some are NaN only if so wanted, some are equal. */
  public static long[] numbers(ElementType type, int count, boolean nan, Random random) {
    long[] numbers = ElementwiseCases.numbers(type, count, random);
    boolean isFloat = type == ElementType.FLOAT32 || type == ElementType.FLOAT64;
    for (int i = 0; isFloat && !nan && i < count; i++) {
      double value = value(type, numbers[i]);
      if (Double.isNaN(value) || Double.isInfinite(value)) {
        numbers[i] = ElementwiseCases.bits(type, random.nextInt(5));
      }
    }
    return numbers;
  }

  private static double value(ElementType type, long bits) {
    return switch (type) {
      case INT8, INT16, INT32, INT64 -> (double) bits;
      case FLOAT32 -> Float.intBitsToFloat((int) bits);
      case FLOAT64 -> Double.longBitsToDouble(bits);
    };
  }

  /** The bits of the results. */
  public static long[] results(ReductionProblem problem, long[] array) {
    Shape shape = problem.shape();
    long[] results = new long[(int) problem.outputShape().elements()];
    int length = results.length == 0 ? 0 : array.length / results.length;
    long[][] sequences = new long[results.length][length];
    int[] lengths = new int[results.length];
    for (int element = 0; element < array.length; element++) {
      int left = element;
      int result = 0;
      int stride = 1;
      for (int axis = shape.rank() - 1; axis >= 0; axis--) {
        int index = (int) (left % shape.extent(axis));
        left /= (int) shape.extent(axis);
        if (!problem.axes().contains(axis)) {
          result += index * stride;
          stride *= (int) shape.extent(axis);
        }
      }
      sequences[result][lengths[result]++] = array[element];
    }
    for (int r = 0; r < results.length; r++) {
      results[r] = result(problem, sequences[r]);
    }
    return results;
  }

  private static long result(ReductionProblem problem, long[] sequence) {
    ElementType type = problem.type();
    boolean isFloat = type == ElementType.FLOAT32 || type == ElementType.FLOAT64;
    if (problem.reduction() == Reduction.SUM) {
      if (!isFloat) {
        long sum = 0;
        for (long number : sequence) {
          sum += number;
        }
        return sum;
      }
      double[] numbers = new double[sequence.length];
      for (int i = 0; i < numbers.length; i++) {
        numbers[i] = value(type, sequence[i]);
      }
      return Double.doubleToRawLongBits(sum(numbers));
    }
    boolean least =
        problem.reduction() == Reduction.MINIMUM || problem.reduction() == Reduction.ARGMIN;
    int best = 0;
    for (int i = 1; i < sequence.length; i++) {
      // Among equal numbers a minimum has the -0, but its place is that of the first.
      int order =
          isFloat
              ? compare(problem, value(type, sequence[i]), value(type, sequence[best]), least)
              : least
                  ? Long.compare(sequence[i], sequence[best])
                  : Long.compare(sequence[best], sequence[i]);
      if (order < 0) {
        best = i;
      }
    }
    return problem.reduction().isPlace() ? best : sequence[best];
  }

  /** Negative if x is to come before y. */
  private static int compare(ReductionProblem problem, double x, double y, boolean least) {
    if (Double.isNaN(x) || Double.isNaN(y)) {
      return Double.isNaN(y) ? 0 : -1;
    }
    if (problem.reduction().isPlace() && x == y) {
      return 0;
    }
    return least ? Double.compare(x, y) : Double.compare(y, x);
  }

  /** A sum in the order that is stated: trees of trees, each filled up. */
  private static double sum(double[] numbers) {
    if (numbers.length <= 1) {
      return numbers.length == 0 ? 0 : numbers[0];
    }
    double[] sums =
        new double[(numbers.length + ReductionProblem.TREE - 1) / ReductionProblem.TREE];
    for (int s = 0; s < sums.length; s++) {
      double[] tree = new double[ReductionProblem.TREE];
      for (int i = 0; i < tree.length; i++) {
        int at = s * tree.length + i;
        tree[i] = at < numbers.length ? numbers[at] : -0.0;
      }
      for (int half = tree.length / 2; half > 0; half /= 2) {
        for (int i = 0; i < half; i++) {
          tree[i] += tree[i + half];
        }
      }
      sums[s] = tree[0];
    }
    return sum(sums);
  }
}
