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
import org.tilespark.kernels.reduce.ReductionPlan.Side;
import org.tilespark.kernels.reduce.ReductionPlan.Step;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;

/** Plans, and what comes out where each launch does what the head of reduce.cu says. */
class ReductionPlannerTest {
  private static final int LANES = 32;
  private static final int WARPS = 8; // of a thread block
  private static final DeviceLimits LIMITS =
      new DeviceLimits(9, 0, 132, 1024, Integer.MAX_VALUE, 48 << 10, 140L << 30);
  private static final DeviceKernels DEVICE = new DeviceKernels(LIMITS, index());

  private static KernelIndex index() {
    StringBuilder index = new StringBuilder();
    for (String what : List.of("sum", "minimum", "maximum", "match")) {
      for (String type : List.of("float_w8", "int_w8", "float_w4", "int_w1")) {
        int vector = 16 / (type.charAt(type.length() - 1) - '0');
        for (String form :
            List.of(
                "rows%1x1024",
                "chosen%1x1024",
                "packed%8x" + vector,
                vector == 2 ? "packed%8x1" : "packed%16x1",
                "columns%512x32",
                "columns%1024x32",
                "columns_short%8x1",
                "columns_short%16x1",
                "columns_short%32x1")) {
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
            true,
            DEVICE);
    assertEquals(
        List.of(
            "reduce_rows_sum_float_w4_1x1024x256",
            "reduce_rows_sum_float_w8_1x1024x256",
            "reduce_packed_sum_float_w8_8x1x256"),
        kernels(plan));
    assertEquals(8L * 3000 + 32, plan.workspaceBytes()); // 3000 trees, then 3
    assertEquals(3000 / 8, plan.steps().get(0).launch().config().blocks()); // a warp a tree
  }

  @Test
  void placesAreFoundByASecondLook() {
    ReductionPlan plan =
        ReductionPlanner.plan(
            new ReductionProblem(Shape.of(2000, 70), Set.of(0), ElementType.INT8, Reduction.ARGMAX),
            true,
            DEVICE);
    assertEquals(
        List.of(
            "reduce_columns_maximum_int_w1_1024x32x256",
            "reduce_columns_short_maximum_int_w1_8x1x256",
            "reduce_columns_match_int_w1_1024x32x256",
            "reduce_columns_short_minimum_int_w8_8x1x256"),
        kernels(plan));
    Step match = plan.steps().get(2);
    assertEquals(plan.steps().get(1).out(), match.best());
    assertEquals(3 * 2, match.launch().config().blocks()); // tiles of 32 columns, trees
  }

  /** Of 60,000 elements the second look reads the trees' best numbers, and one tree. */
  @Test
  void placesOfLongSequencesAreInOneTree() {
    for (Shape shape : List.of(Shape.of(60_000, 70), Shape.of(70, 60_000))) {
      int axis = shape.extent(0) == 70 ? 1 : 0;
      ReductionPlan plan =
          ReductionPlanner.plan(
              new ReductionProblem(shape, Set.of(axis), ElementType.FLOAT64, Reduction.ARGMIN),
              true,
              DEVICE);
      List<Step> steps = plan.steps();
      assertEquals(4, steps.size());
      Step match = steps.get(2);
      assertEquals(steps.get(0).out(), match.in());
      assertEquals(steps.get(1).out(), match.best());
      assertEquals(59, match.launch().words()[1]);
      Step chosen = steps.get(3);
      assertEquals("reduce_chosen_match_float_w8_1x1024x256", chosen.launch().kernel());
      assertEquals(new Place(Side.IN, 0), chosen.in());
      assertEquals(match.out(), chosen.out());
      assertEquals(9, chosen.launch().config().blocks()); // a warp a result
    }
  }

  @Test
  void refusals() {
    assertThrows(
        IllegalArgumentException.class,
        () ->
            ReductionPlanner.plan(
                new ReductionProblem(
                    Shape.of(2, 3, 2, 3, 2), Set.of(0, 2, 4), ElementType.INT8, Reduction.SUM),
                true,
                DEVICE));
    assertThrows(
        IllegalArgumentException.class,
        () ->
            ReductionPlanner.plan(
                new ReductionProblem(Shape.of(0), Set.of(0), ElementType.INT8, Reduction.SUM),
                true,
                DEVICE));
    UnsupportedOperationException missing =
        assertThrows(
            UnsupportedOperationException.class,
            () ->
                ReductionPlanner.plan(
                    new ReductionProblem(Shape.of(9), Set.of(0), ElementType.INT16, Reduction.SUM),
                    true,
                    DEVICE));
    assertTrue(missing.getMessage().contains("reduce_rows_sum_int"), missing.getMessage());
  }

  /** The kernel of the first launch, its lanes or branches of a tree, and loads of a lane. */
  private static String first(boolean isAligned, ElementType type, int axis, long... extents) {
    Step step =
        ReductionPlanner.plan(
                new ReductionProblem(Shape.of(extents), Set.of(axis), type, Reduction.SUM),
                isAligned,
                DEVICE)
            .steps()
            .get(0);
    long[] words = step.launch().words();
    return "%s %s %s %s"
        .formatted(
            step.launch().kernel().replaceAll("reduce_(.*)_sum_.*_w._(.*)x256", "$1 $2"),
            1 << words[9],
            1 << words[10],
            step.launch().config().blocks());
  }

  @Test
  void formsOfShortSequences() {
    ElementType single = ElementType.FLOAT32;
    assertEquals("packed 8x4 4 1 2", first(true, single, 1, 1000, 16)); // 64 in a warp
    assertEquals("packed 16x1 8 2 4", first(false, single, 1, 1000, 16)); // 32 in a warp
    assertEquals("packed 16x1 8 4 8", first(true, single, 1, 1000, 17));
    assertEquals("packed 8x4 8 4 16", first(true, single, 1, 1000, 128));
    assertEquals("packed 8x4 32 8 125", first(true, single, 1, 1000, 1000));
    assertEquals("rows 1x1024 1 1 125", first(true, single, 1, 1000, 1001));
    assertEquals("packed 16x1 32 16 125", first(true, single, 1, 1000, 511));
    assertEquals("packed 8x16 1 1 1", first(true, ElementType.INT8, 1, 1000, 16));
    assertEquals("packed 8x16 8 8 313", first(true, ElementType.INT8, 1, 1000, 10_000 - 16));
    assertEquals("columns_short 16x1 1 1 4", first(true, single, 0, 9, 1000));
    assertEquals("columns 512x32 4 1 16", first(true, single, 0, 33, 1000));
    assertEquals("columns 512x32 32 1 32", first(true, single, 0, 512, 1000));
    assertEquals("columns 1024x32 32 1 32", first(true, single, 0, 513, 1000));
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
      long[] array = ReductionCases.numbers(type, (int) elements, random.nextInt(4) == 0, random);
      assertArrayEquals(
          comparable(problem, ReductionCases.results(problem, array)),
          comparable(problem, run(problem, random.nextBoolean(), array)),
          problem::toString);
    }
  }

  /** Several levels of trees, along rows and across them. */
  @Test
  void longSequences() {
    Random random = new Random(7);
    for (Shape shape :
        List.of(
            Shape.of(9000, 2), Shape.of(2, 9000), Shape.of(1, 1_100_000), Shape.of(3, 9000, 2))) {
      for (Reduction reduction : Reduction.values()) {
        for (ElementType type : List.of(ElementType.FLOAT64, ElementType.INT64)) {
          int axis = shape.extent(0) == 9000 ? 0 : 1;
          ReductionProblem problem = new ReductionProblem(shape, Set.of(axis), type, reduction);
          long[] array =
              ReductionCases.numbers(type, (int) shape.elements(), random.nextBoolean(), random);
          assertArrayEquals(
              comparable(problem, ReductionCases.results(problem, array)),
              comparable(problem, run(problem, true, array)),
              problem::toString);
        }
      }
    }
  }

  /** Sums by plans for narrow elements, which the launches here read as wide ones. */
  @Test
  void narrowShortSequences() {
    Random random = new Random(6);
    for (int length = 1; length <= 5000; length += length < 70 ? 1 : 1 + random.nextInt(100)) {
      int results = 1 + random.nextInt(Math.max(5, Math.min(600, 3000 / length)));
      for (boolean isFloat : new boolean[] {true, false}) {
        ElementType narrow = isFloat ? ElementType.FLOAT32 : ElementType.INT8;
        ElementType wide = isFloat ? ElementType.FLOAT64 : ElementType.INT64;
        for (int rounded : new int[] {length, Math.max(4, length & -4), (length + 15) & -16}) {
          for (int axis = 0; axis < 2; axis++) {
            Shape shape = axis == 1 ? Shape.of(results, rounded) : Shape.of(rounded, results);
            ReductionProblem problem =
                new ReductionProblem(shape, Set.of(axis), wide, Reduction.SUM);
            long[] array = ReductionCases.numbers(wide, (int) shape.elements(), false, random);
            assertArrayEquals(
                comparable(problem, ReductionCases.results(problem, array)),
                comparable(
                    problem,
                    run(
                        new ReductionProblem(shape, Set.of(axis), narrow, Reduction.SUM),
                        random.nextInt(4) != 0,
                        array)),
                problem::toString);
          }
        }
      }
    }
  }

  private static long[] comparable(ReductionProblem problem, long[] bits) {
    return LongStream.of(bits)
        .map(each -> ElementwiseCases.comparable(problem.outputType(), each))
        .toArray();
  }

  private static long[] run(ReductionProblem problem, boolean isAligned, long[] array) {
    ReductionPlan plan = ReductionPlanner.plan(problem, isAligned, DEVICE);
    long[] results = new long[(int) problem.outputShape().elements()];
    assertEquals(plan.workspaceBytes(), ReductionPlanner.workspaceBytes(problem));
    long[][] sides = {array, results, new long[(int) plan.workspaceBytes() / Long.BYTES]};
    for (Step step : plan.steps()) {
      new Launch(step, sides).run();
    }
    return results;
  }

  /** A launch whose threads find elements as those of reduce.cu do. */
  private static final class Launch {
    final String form;
    final boolean isFloat;
    final boolean match;
    final LongBinaryOperator combine;
    final long none;
    final long[] words;
    final int results;
    final int length;
    final int trees;
    final int rows; // of the kernel's name
    final int columns;
    final long[] in;
    final int inStart;
    final long[] best;
    final int bestStart;
    final long[] out;
    final int outStart;
    final int threadBlocks;

    Launch(Step step, long[][] sides) {
      KernelLaunch launch = step.launch();
      String name = launch.kernel();
      form = name.replaceAll("reduce_(.*)_(sum|minimum|maximum|match)_.*", "$1");
      match = name.contains("_match_");
      isFloat = name.contains("_float_");
      combine = combination(name, isFloat && !match);
      none = none(name, isFloat && !match);
      words = launch.words();
      results = (int) words[0];
      length = (int) words[1];
      trees = (int) words[2];
      KernelIndex.TileShape shape = DEVICE.index().find(name).orElseThrow().shape();
      rows = shape.rows();
      columns = shape.cols();
      in = sides[step.in().side().ordinal()];
      inStart = word(step.in());
      best = sides[step.best().side().ordinal()];
      bestStart = word(step.best());
      out = sides[step.out().side().ordinal()];
      outStart = word(step.out());
      threadBlocks = launch.config().blocks();
    }

    void run() {
      switch (form) {
        case "rows" -> {
          assertEquals((results * trees + WARPS - 1) / WARPS, threadBlocks);
          forEachTree((r, t) -> store(r * trees + t, branches(r, t, LANES, columns / LANES)));
        }
        case "chosen" -> {
          assertEquals((results + WARPS - 1) / WARPS, threadBlocks);
          for (int r = 0; r < results; r++) {
            store(r, branches(r, (int) out[outStart + r], LANES, columns / LANES));
          }
        }
        case "packed" -> {
          for (int warp = 0; warp < threadBlocks * WARPS; warp++) {
            packed(warp);
          }
        }
        case "columns" -> {
          int branches = 1 << words[9];
          int wide = LANES * (WARPS / Math.min(WARPS, branches));
          assertEquals((results + wide - 1) / wide * trees, threadBlocks);
          forEachTree((r, t) -> store(t * results + r, branches(r, t, branches, rows / LANES)));
        }
        default -> {
          assertEquals("columns_short", form);
          forEachTree((r, t) -> store(r, branches(r, t, 1, rows)));
        }
      }
    }

    private interface Tree {
      void combine(int result, int tree);
    }

    private void forEachTree(Tree each) {
      for (int result = 0; result < results; result++) {
        for (int tree = 0; tree < trees; tree++) {
          each.combine(result, tree);
        }
      }
    }

    private int numbers(int tree) {
      return Math.min(ReductionProblem.TREE, length - tree * ReductionProblem.TREE);
    }

    /** A tree of branches, each of at most {@code most} numbers. */
    private long branches(int result, int tree, int branches, int most) {
      assertTrue(branches * most >= numbers(tree));
      long[] ofBranch = new long[branches];
      for (int branch = 0; branch < branches; branch++) {
        long[] values = new long[most];
        Arrays.fill(values, none);
        int first = tree * ReductionProblem.TREE + branch;
        for (int j = 0; branch + branches * j < numbers(tree); j++) {
          int place = first + branches * j;
          int offset = offset(words, 3, result) + offset(words, 6, place);
          values[j] = value(offset, result, place);
        }
        ofBranch[branch] = all(values, values.length);
      }
      return all(ofBranch, branches);
    }

    private long value(int offset, int result, int place) {
      long value = in[inStart + offset];
      if (!match) {
        return value;
      }
      return equal(value, best[bestStart + result], isFloat) ? place : Long.MAX_VALUE;
    }

    private long all(long[] values, int count) {
      for (int half = count / 2; half > 0; half /= 2) {
        for (int i = 0; i < half; i++) {
          values[i] = combine.applyAsLong(values[i], values[i + half]);
        }
      }
      return values[0];
    }

    private void store(int at, long value) {
      out[outStart + at] = value;
    }

    /** One turn of a warp of reduce_packed: names and steps are those of the kernel. */
    private void packed(int warp) {
      int loads = rows;
      int group = 1 << words[9];
      int treesLog = Integer.numberOfTrailingZeros(loads) - (int) words[10];
      int groups = LANES / group;
      int perWarp = groups << treesLog;
      int first = warp * perWarp;
      int items = results * trees;
      assertTrue(trees == 1 || treesLog == 0);
      int left = Math.min(items - first, perWarp);
      long[][][] values = new long[LANES][loads][columns];
      for (int lane = 0; lane < LANES; lane++) {
        int result = (first + lane / group) / trees;
        int tree = (first + lane / group) % trees;
        int end = first + lane / group < items ? numbers(tree) : 0;
        int offset = result * (int) words[4] + tree * ReductionProblem.TREE;
        for (int s = 0; s < loads; s++) {
          Arrays.fill(values[lane][s], none);
          int beside = s & (1 << treesLog) - 1;
          int at = ((s >> treesLog) * group + lane % group) * columns;
          if (at < end && beside * groups + lane / group < left) {
            int from = offset + beside * groups * (int) words[4] + at;
            assertEquals(0, from % columns);
            for (int v = 0; v < columns; v++) {
              values[lane][s][v] =
                  value(from + v, result + beside * groups, tree * ReductionProblem.TREE + at + v);
            }
          }
        }
        for (int half = loads / 2; half >> treesLog != 0; half /= 2) {
          for (int s = 0; s < half; s++) {
            combine(values[lane][s], values[lane][s + half]);
          }
        }
      }
      for (int half = group / 2; half > 0; half /= 2) {
        for (int lane = 0; lane + half < LANES; lane++) { // a lane further on has not changed yet
          for (int s = 0; s < 1 << treesLog; s++) {
            combine(values[lane][s], values[lane + half][s]);
          }
        }
      }
      for (int lane = 0; lane < LANES; lane += group) {
        for (int s = 0; s < 1 << treesLog && s * groups + lane / group < left; s++) {
          store(first + lane / group + s * groups, all(values[lane][s], columns));
        }
      }
    }

    private void combine(long[] values, long[] others) {
      for (int v = 0; v < columns; v++) {
        values[v] = combine.applyAsLong(values[v], others[v]);
      }
    }
  }

  private static int word(Place place) {
    assertEquals(0, place.bytes() % Long.BYTES);
    return (int) place.bytes() / Long.BYTES;
  }

  /** Of an index along the axes whose words begin at {@code at}. */
  private static int offset(long[] words, int at, int index) {
    return (int) (index / words[at] * words[at + 2] + index % words[at] * words[at + 1]);
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
