package org.tilespark.kernels.reduce;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.function.LongBinaryOperator;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.launch.DeviceKernels;
import org.tilespark.kernels.launch.DeviceLimits;
import org.tilespark.kernels.launch.KernelIndex;
import org.tilespark.kernels.launch.KernelLaunch;
import org.tilespark.kernels.pointwise.ElementwiseCases;
import org.tilespark.kernels.reduce.ReductionPlan.Place;
import org.tilespark.kernels.reduce.ReductionPlan.Step;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;

/** Plans, and what comes out where each launch does what the head of reduce.cu says. */
class ReductionPlannerTest {
  private static final int LANES = 32;
  private static final DeviceLimits LIMITS =
      new DeviceLimits(9, 0, 132, 1024, Integer.MAX_VALUE, 48 << 10, 140L << 30);
  private static final DeviceKernels DEVICE = new DeviceKernels(LIMITS, index());

  private static KernelIndex index() {
    StringBuilder index = new StringBuilder();
    for (String what : List.of("sum", "minimum", "maximum", "match")) {
      for (String type : List.of("float_w8", "int_w8", "float_w4", "int_w1")) {
        for (String form :
            List.of("rows%1x1024", "rows_short%1x32", "columns%1024x32", "columns_short%32x1")) {
          String[] parts = form.split("%");
          index.append(
              "kernel reduce reduce_%s_%s_%s_%sx256 sm_90a%n"
                  .formatted(parts[0], what, type, parts[1]));
        }
      }
    }
    return KernelIndex.parse(index.toString());
  }

  private static List<String> kernels(ReductionPlan plan) {
    return plan.steps().stream().map(step -> step.launch().kernel()).toList();
  }

  @Test
  void sumOfAll() {
    ReductionPlan plan =
        ReductionPlanner.plan(
            new ReductionProblem(
                Shape.of(3000, 1024), Set.of(0, 1), ElementType.FLOAT32, Reduction.SUM),
            DEVICE);
    assertEquals(
        List.of(
            "reduce_rows_sum_float_w4_1x1024x256",
            "reduce_rows_sum_float_w8_1x1024x256",
            "reduce_rows_short_sum_float_w8_1x32x256"),
        kernels(plan));
    assertEquals(8L * 3000 + 32, plan.workspaceBytes()); // 3000 trees, then 3
    assertEquals(3000 / 8, plan.steps().get(0).launch().config().blocks()); // a warp a tree
  }

  @Test
  void placesAreFoundByASecondLook() {
    ReductionPlan plan =
        ReductionPlanner.plan(
            new ReductionProblem(
                Shape.of(2000, 70), Set.of(0), ElementType.INT8, Reduction.ARGMAX),
            DEVICE);
    assertEquals(
        List.of(
            "reduce_columns_maximum_int_w1_1024x32x256",
            "reduce_columns_short_maximum_int_w1_32x1x256",
            "reduce_columns_match_int_w1_1024x32x256",
            "reduce_columns_short_minimum_int_w8_32x1x256"),
        kernels(plan));
    Step match = plan.steps().get(2);
    assertEquals(plan.steps().get(1).out(), match.best());
    assertEquals(3 * 2, match.launch().config().blocks()); // tiles of 32 columns, trees
  }

  @Test
  void refusals() {
    assertThrows(
        IllegalArgumentException.class,
        () ->
            ReductionPlanner.plan(
                new ReductionProblem(
                    Shape.of(2, 3, 2, 3, 2), Set.of(0, 2, 4), ElementType.INT8, Reduction.SUM),
                DEVICE));
    assertThrows(
        IllegalArgumentException.class,
        () ->
            ReductionPlanner.plan(
                new ReductionProblem(Shape.of(0), Set.of(0), ElementType.INT8, Reduction.SUM),
                DEVICE));
    UnsupportedOperationException missing =
        assertThrows(
            UnsupportedOperationException.class,
            () ->
                ReductionPlanner.plan(
                    new ReductionProblem(Shape.of(9), Set.of(0), ElementType.INT16, Reduction.SUM),
                    DEVICE));
    assertTrue(missing.getMessage().contains("reduce_rows_short_sum_int"), missing.getMessage());
  }

  @Test
  void launchesGiveTheResults() {
    Random random = new Random(5);
    for (int i = 0; i < 400; i++) {
      int rank = 1 + random.nextInt(4);
      long[] extents = new long[rank];
      long elements = 1;
      for (int axis = 0; axis < rank; axis++) {
        long most = Math.max(1, Math.min(6000 / elements, random.nextInt(3) == 0 ? 6000 : 40));
        extents[axis] = 1L + random.nextInt((int) most);
        elements *= extents[axis];
      }
      ElementType type = random.nextBoolean() ? ElementType.FLOAT64 : ElementType.INT64;
      Reduction reduction = Reduction.values()[random.nextInt(Reduction.values().length)];
      ReductionProblem problem =
          new ReductionProblem(
              Shape.of(extents), ReductionCases.axes(rank, random), type, reduction);
      long[] array =
          ReductionCases.numbers(type, (int) elements, random.nextInt(4) == 0, random);
      assertArrayEquals(
          comparable(problem, ReductionCases.results(problem, array)),
          comparable(problem, run(problem, array)),
          problem::toString);
    }
  }

  private static long[] comparable(ReductionProblem problem, long[] bits) {
    return LongStream.of(bits)
        .map(each -> ElementwiseCases.comparable(problem.outputType(), each))
        .toArray();
  }

  private static long[] run(ReductionProblem problem, long[] array) {
    ReductionPlan plan = ReductionPlanner.plan(problem, DEVICE);
    long[] results = new long[(int) problem.outputShape().elements()];
    assertEquals(plan.workspaceBytes(), ReductionPlanner.workspaceBytes(problem));
    long[][] sides = {array, results, new long[(int) plan.workspaceBytes() / Long.BYTES]};
    for (Step step : plan.steps()) {
      run(step, sides);
    }
    return results;
  }

  private static void run(Step step, long[][] sides) {
    KernelLaunch launch = step.launch();
    String name = launch.kernel();
    boolean rows = name.startsWith("reduce_rows");
    boolean isShort = name.contains("_short_");
    boolean isFloat = name.contains("_float_");
    boolean match = name.contains("_match_");
    LongBinaryOperator combine = combination(name, isFloat && !match);
    long none = none(name, isFloat && !match);
    long[] words = launch.words();
    int results = (int) words[0];
    int length = (int) words[1];
    int trees = (int) words[2];
    assertEquals(isShort, length <= LANES);
    if (isShort && rows) {
      assertTrue(words[9] >= length && words[9] < 2L * length && LANES % words[9] == 0);
    }
    for (int result = 0; result < results; result++) {
      for (int tree = 0; tree < trees; tree++) {
        long[] values = new long[isShort ? LANES : ReductionProblem.TREE];
        Arrays.fill(values, none);
        for (int i = 0; i < values.length; i++) {
          int place = tree * ReductionProblem.TREE + i;
          if (place < length) {
            long value =
                sides[step.in().side().ordinal()][
                    word(step.in()) + offset(words, 3, result) + offset(words, 6, place)];
            values[i] = value;
            if (match) {
              long best = sides[step.best().side().ordinal()][word(step.best()) + result];
              values[i] = equal(value, best, isFloat) ? place : Long.MAX_VALUE;
            }
          }
        }
        for (int half = values.length / 2; half > 0; half /= 2) {
          for (int i = 0; i < half; i++) {
            values[i] = combine.applyAsLong(values[i], values[i + half]);
          }
        }
        int out = rows ? result * trees + tree : tree * results + result;
        sides[step.out().side().ordinal()][word(step.out()) + out] = values[0];
      }
    }
  }

  private static int word(Place place) {
    assertEquals(0, place.bytes() % Long.BYTES);
    return (int) place.bytes() / Long.BYTES;
  }

  /** Of an index along the axes whose words begin at {@code at}. */
  private static int offset(long[] words, int at, int index) {
    return (int)
        (index / words[at] * words[at + 2] + index % words[at] * words[at + 1]);
  }

  private static boolean equal(long x, long y, boolean isFloat) {
    if (!isFloat) {
      return x == y;
    }
    double a = Double.longBitsToDouble(x);
    double b = Double.longBitsToDouble(y);
    return a == b || (Double.isNaN(a) && Double.isNaN(b));
  }

  private static long none(String name, boolean isFloat) {
    double infinity = Double.POSITIVE_INFINITY;
    if (name.contains("_sum_")) {
      return isFloat ? Double.doubleToRawLongBits(-0.0) : 0;
    }
    return name.contains("_maximum_")
        ? isFloat ? Double.doubleToRawLongBits(-infinity) : Long.MIN_VALUE
        : isFloat ? Double.doubleToRawLongBits(infinity) : Long.MAX_VALUE;
  }

  private static LongBinaryOperator combination(String name, boolean isFloat) {
    boolean sum = name.contains("_sum_");
    boolean most = name.contains("_maximum_");
    if (!isFloat) {
      return sum ? Long::sum : most ? Math::max : Math::min;
    }
    return (x, y) -> {
      double a = Double.longBitsToDouble(x);
      double b = Double.longBitsToDouble(y);
      return Double.doubleToRawLongBits(sum ? a + b : most ? Math.max(a, b) : Math.min(a, b));
    };
  }
}
