package org.tilespark.kernels.reduce;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.tilespark.kernels.launch.Ceil;
import org.tilespark.kernels.launch.DeviceKernels;
import org.tilespark.kernels.launch.KernelIndex.Kernel;
import org.tilespark.kernels.launch.KernelLaunch;
import org.tilespark.kernels.launch.LaunchConfig;
import org.tilespark.kernels.reduce.ReducedAxes.Axis;
import org.tilespark.kernels.reduce.ReductionPlan.Place;
import org.tilespark.kernels.reduce.ReductionPlan.Side;
import org.tilespark.kernels.reduce.ReductionPlan.Step;
import org.tilespark.layout.ElementType;

/**
 * Plans reductions for a device: a launch of {@code reduce.cu} makes a number of each tree of a
 * sequence ({@link ReductionProblem#TREE}); further ones combine those, until one is left. A place
 * is found by a second look: the least place of an element that equals the best one.
 */
public final class ReductionPlanner {
  /** Numbers that one thread combines, and lanes of a warp. */
  private static final int LANES = 32;

  /** Axes of either sort that a kernel knows. */
  private static final int MOST_AXES = 2;

  private static final int WORKSPACE_ALIGNMENT = 16;

  private final DeviceKernels device;
  private final List<Step> steps = new ArrayList<>();
  private long workspaceBytes;

  private ReductionPlanner(DeviceKernels device) {
    this.device = device;
  }

  /**
   * What is combined.
   *
   * @param what the word in the kernel's name
   * @param element in memory
   * @param result of a launch
   */
  private record Combination(String what, ElementType element, ElementType result) {
    /** How results of trees are combined. */
    Combination ofResults() {
      return new Combination(what.equals("match") ? "minimum" : what, result, result);
    }

    String family(String form) {
      return "reduce_%s_%s_%s".formatted(form, what, kind());
    }

    private String kind() {
      return Reduction.computedIn(element) == ElementType.INT64 ? "int" : "float";
    }
  }

  /**
   * The plan of a reduction.
   *
   * @throws IllegalArgumentException if there are no elements, or more than two axes of either sort
   *     once neighbours are one
   * @throws UnsupportedOperationException if the jar has no kernel for the device
   */
  public static ReductionPlan plan(ReductionProblem problem, DeviceKernels device) {
    ReducedAxes axes = ReducedAxes.of(problem);
    if (problem.shape().elements() == 0
        || axes.kept().size() > MOST_AXES
        || axes.reduced().size() > MOST_AXES) {
      throw new IllegalArgumentException(
          "%s on a device; expected elements, and at most %s axes of either sort between others"
              .formatted(problem, MOST_AXES));
    }
    ReductionPlanner planner = new ReductionPlanner(device);
    ElementType type = problem.type();
    Place array = new Place(Side.IN, 0);
    Place results = new Place(Side.OUT, 0);
    if (problem.reduction().isPlace()) {
      boolean least = problem.reduction() == Reduction.ARGMIN;
      Combination best = new Combination(least ? "minimum" : "maximum", type, type);
      Place found = planner.workspace(ReducedAxes.count(axes.kept()), type);
      planner.reduce(best, axes, array, array, found);
      planner.reduce(
          new Combination("match", type, ElementType.INT64), axes, array, found, results);
    } else {
      String what = problem.reduction().name().toLowerCase(Locale.ROOT);
      planner.reduce(
          new Combination(what, type, problem.outputType()), axes, array, array, results);
    }
    return new ReductionPlan(planner.steps, planner.workspaceBytes);
  }

  /**
   * The device memory that a reduction needs besides the array and the results, on any device.
   *
   * @throws ArithmeticException if that is beyond 2^63
   */
  public static long workspaceBytes(ReductionProblem problem) {
    ReducedAxes axes = ReducedAxes.of(problem);
    long count = ReducedAxes.count(axes.kept());
    long trees = Ceil.div(ReducedAxes.count(axes.reduced()), ReductionProblem.TREE);
    boolean isPlace = problem.reduction().isPlace();
    long bytes = isPlace ? bytes(count, problem.type()) : 0;
    // A number of each tree of each level, but for the last one.
    for (; trees > 1; trees = Ceil.div(trees, ReductionProblem.TREE)) {
      long ofTrees = Math.multiplyExact(count, trees);
      bytes = Math.addExact(bytes, bytes(ofTrees, isPlace ? problem.type() : problem.outputType()));
      if (isPlace) { // of the best number, then of its place
        bytes = Math.addExact(bytes, bytes(ofTrees, ElementType.INT64));
      }
    }
    return bytes;
  }

  private static long bytes(long elements, ElementType type) {
    return Ceil.to(Math.multiplyExact(elements, (long) type.bytes()), WORKSPACE_ALIGNMENT);
  }

  private Place workspace(long elements, ElementType type) {
    Place place = new Place(Side.WORKSPACE, workspaceBytes);
    workspaceBytes = Math.addExact(workspaceBytes, bytes(elements, type));
    return place;
  }

  /** Adds launches until each sequence is one number. */
  private void reduce(
      Combination combination, ReducedAxes axes, Place in, Place best, Place results) {
    long count = ReducedAxes.count(axes.kept());
    long length = ReducedAxes.count(axes.reduced());
    boolean alongRows = axes.isInnermost(axes.reduced());
    long trees = Ceil.div(length, ReductionProblem.TREE);
    Place out =
        trees == 1
            ? results
            : workspace(Math.multiplyExact(count, trees), combination.result());
    steps.add(
        new Step(
            launch(combination, axes, count, length, trees, alongRows),
            in,
            combination.what().equals("match") ? best : in,
            out));
    if (trees > 1) {
      Axis kept = new Axis(count, alongRows ? trees : 1);
      Axis reduced = new Axis(trees, alongRows ? 1 : count);
      ReducedAxes next =
          new ReducedAxes(count == 1 ? List.of() : List.of(kept), List.of(reduced));
      reduce(combination.ofResults(), next, out, out, results);
    }
  }

  private KernelLaunch launch(
      Combination combination,
      ReducedAxes axes,
      long count,
      long length,
      long trees,
      boolean alongRows) {
    boolean isShort = length <= LANES;
    String form = (alongRows ? "rows" : "columns") + (isShort ? "_short" : "");
    String family = combination.family(form);
    Kernel kernel =
        device
            .find(family, combination.element().bytes())
            .orElseThrow(
                () ->
                    new UnsupportedOperationException(
                        "This jar has no kernel %s for %s"
                            .formatted(family, device.limits().architecture())));
    int threads = kernel.shape().threads();
    long group = length <= 1 ? 1 : Long.highestOneBit(length - 1) * 2;
    int warps = threads / LANES;
    long threadBlocks;
    if (!alongRows) {
      threadBlocks =
          isShort
              ? Ceil.div(count, threads)
              : Math.multiplyExact(Ceil.div(count, LANES), trees);
    } else {
      threadBlocks =
          isShort
              ? Ceil.div(count, warps * (LANES / group))
              : Ceil.div(Math.multiplyExact(count, trees), warps);
    }
    return new KernelLaunch(
        kernel.name(),
        LaunchConfig.forPieces(threadBlocks, threads, 0, device.limits()),
        words(axes, count, length, trees, isShort ? group : 0));
  }

  /** The fields of {@code ReduceArguments} after the pointers. */
  private static long[] words(
      ReducedAxes axes, long count, long length, long trees, long group) {
    return new long[] {
      count,
      length,
      trees,
      inner(axes.kept()).extent(),
      inner(axes.kept()).stride(),
      outerStride(axes.kept()),
      inner(axes.reduced()).extent(),
      inner(axes.reduced()).stride(),
      outerStride(axes.reduced()),
      group
    };
  }

  private static Axis inner(List<Axis> axes) {
    return axes.isEmpty() ? new Axis(1, 0) : axes.get(axes.size() - 1);
  }

  private static long outerStride(List<Axis> axes) {
    return axes.size() < MOST_AXES ? 0 : axes.get(0).stride();
  }
}
