package org.tilespark.kernels.reduce;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
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
 * Plans reductions for a device: a launch of {@code reduce.cu} reduces each tree of a sequence
 * ({@link ReductionProblem#TREE}) to one number; further launches combine these until one is left.
 * A place is found in a second search, as the least place of an element that equals the best one.
 * This search starts at the results of trees, so it reads only one tree of elements in each
 * sequence.
 */
public final class ReductionPlanner {
  /** Lanes of a warp; also the largest number of branches of a tree for sequences across rows. */
  private static final int LANES = 32;

  /** The longest sequence across rows that a single thread reduces. */
  private static final int SHORT = 32;

  /**
   * The number of neighbouring lanes that reduce a tree in the packed form, unless a lane would
   * have less than one load: 8 lanes that load 16 bytes read a whole cache line, and fewer lanes
   * need fewer shuffles.
   */
  private static final int PACKED_LANES = 8;

  /**
   * Bytes of the widest elements of long sequences along rows that vector loads read: wider ones
   * reach the memory bandwidth with single loads.
   */
  private static final int NARROW_BYTES = 2;

  /** Bytes that memory moves for an element whose neighbours are not read. */
  private static final int SECTOR_BYTES = 32;

  /** The largest number of kept axes, and of reduced axes, that a kernel supports. */
  private static final int MOST_AXES = 2;

  /** Bytes of the widest loads of a kernel. */
  public static final int VECTOR_BYTES = 16;

  private final DeviceKernels device;
  private final boolean arrayIsAligned;
  private final List<Step> steps = new ArrayList<>();
  private long workspaceBytes;

  private ReductionPlanner(DeviceKernels device, boolean arrayIsAligned) {
    this.device = device;
    this.arrayIsAligned = arrayIsAligned;
  }

  /**
   * The kind of numbers that a launch combines.
   *
   * @param what the word for the reduction in the kernel's name
   * @param element element type in memory
   * @param result element type of a launch's results
   */
  private record Combination(String what, ElementType element, ElementType result) {
    /** The combination of a launch that combines the results of trees. */
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
   * The numbers that a launch combines, and their layout: {@code count} sequences of {@code length}
   * numbers.
   */
  private record Work(
      Combination combination, ReducedAxes axes, boolean isAligned, long count, long length) {
    Work(Combination combination, ReducedAxes axes, boolean isAligned) {
      this(
          combination,
          axes,
          isAligned,
          ReducedAxes.count(axes.kept()),
          ReducedAxes.count(axes.reduced()));
    }

    long trees() {
      return Ceil.div(length, ReductionProblem.TREE);
    }

    /** The size of a tree: its numbers, rounded up to a power of two. */
    int treeSize() {
      int most = (int) Math.min(length, ReductionProblem.TREE);
      return most == 1 ? 1 : Integer.highestOneBit(most - 1) * 2;
    }

    boolean alongRows() {
      return axes.isInnermost(axes.reduced());
    }

    /** True if sequences have no gaps in them, and their starts are equally spaced. */
    boolean isPacked() {
      return alongRows() && axes.kept().size() <= 1 && axes.reduced().size() == 1;
    }

    /**
     * True if each sequence begins at a multiple of the size of a vector of {@code elements}
     * elements, and consists of whole vectors.
     */
    boolean takesVectors(int elements) {
      return elements == 1
          || (isAligned && length % elements == 0 && inner(axes.kept()).stride() % elements == 0);
    }
  }

  /**
   * The plan of a reduction.
   *
   * @param isAligned true if the array begins at a multiple of {@link #VECTOR_BYTES} bytes
   * @throws IllegalArgumentException if there are no elements, or if, after fusing neighbouring
   *     axes, more than two axes are reduced or more than two are kept
   * @throws UnsupportedOperationException if the jar has no kernel for the device
   */
  public static ReductionPlan plan(
      ReductionProblem problem, boolean isAligned, DeviceKernels device) {
    ReducedAxes axes = ReducedAxes.of(problem);
    if (problem.shape().elements() == 0
        || axes.kept().size() > MOST_AXES
        || axes.reduced().size() > MOST_AXES) {
      throw new IllegalArgumentException(
          "%s on a device; expected elements, and at most %s axes of either sort between others"
              .formatted(problem, MOST_AXES));
    }
    ReductionPlanner planner = new ReductionPlanner(device, isAligned);
    ElementType type = problem.type();
    Place array = new Place(Side.IN, 0);
    Place results = new Place(Side.OUT, 0);
    if (problem.reduction().isPlace()) {
      boolean least = problem.reduction() == Reduction.ARGMIN;
      Combination best = new Combination(least ? "minimum" : "maximum", type, type);
      Place found = planner.workspace(ReducedAxes.count(axes.kept()), type);
      List<Level> levels = planner.reduce(best, axes, array, array, found);
      if (!looksInside(axes, type)) {
        levels = levels.subList(0, 1);
      }
      Combination match = new Combination("match", type, ElementType.INT64);
      Level last = levels.get(levels.size() - 1);
      List<Level> ignored = planner.reduce(match, last.axes(), last.in(), found, results);
      for (int i = levels.size() - 2; i >= 0; i--) {
        planner.choose(match, levels.get(i), found, results);
      }
    } else {
      String what = problem.reduction().name().toLowerCase(Locale.ROOT);
      Combination numbers = new Combination(what, type, problem.outputType());
      List<Level> ignored = planner.reduce(numbers, axes, array, array, results);
    }
    return new ReductionPlan(planner.steps, planner.workspaceBytes);
  }

  /**
   * The device memory that a reduction needs besides the array and the results, on any device.
   *
   * @throws ArithmeticException if that exceeds 2^63 bytes
   */
  public static long workspaceBytes(ReductionProblem problem) {
    ReducedAxes axes = ReducedAxes.of(problem);
    long count = ReducedAxes.count(axes.kept());
    long trees = Ceil.div(ReducedAxes.count(axes.reduced()), ReductionProblem.TREE);
    boolean isPlace = problem.reduction().isPlace();
    boolean looksInside = looksInside(axes, problem.type());
    long bytes = isPlace ? bytes(count, problem.type()) : 0;
    // One number for each tree of each level except the last.
    for (; trees > 1; trees = Ceil.div(trees, ReductionProblem.TREE)) {
      long ofTrees = Math.multiplyExact(count, trees);
      bytes = Math.addExact(bytes, bytes(ofTrees, isPlace ? problem.type() : problem.outputType()));
      if (isPlace && !looksInside) { // once for the best number, then for its place
        bytes = Math.addExact(bytes, bytes(ofTrees, ElementType.INT64));
      }
    }
    return bytes;
  }

  /**
   * True if a place is searched only in one tree of a sequence, which is found from the trees'
   * results. False for few, narrow elements stored across rows: there, reading one tree moves the
   * neighbouring sequences too.
   */
  private static boolean looksInside(ReducedAxes axes, ElementType type) {
    long trees = Ceil.div(ReducedAxes.count(axes.reduced()), ReductionProblem.TREE);
    return axes.isInnermost(axes.reduced()) || trees * type.bytes() >= 2 * SECTOR_BYTES;
  }

  private static long bytes(long elements, ElementType type) {
    return Ceil.to(Math.multiplyExact(elements, (long) type.bytes()), VECTOR_BYTES);
  }

  private Place workspace(long elements, ElementType type) {
    Place place = new Place(Side.WORKSPACE, workspaceBytes);
    workspaceBytes = Math.addExact(workspaceBytes, bytes(elements, type));
    return place;
  }

  /** The input of a launch and its layout: the array, or the results of trees. */
  private record Level(ReducedAxes axes, Place in) {}

  /**
   * Adds launches until each sequence is one number.
   *
   * @return the input of each launch
   */
  private List<Level> reduce(
      Combination combination, ReducedAxes axes, Place in, Place best, Place results) {
    List<Level> levels = new ArrayList<>();
    Combination each = combination;
    Level level = new Level(axes, in);
    while (true) {
      levels.add(level);
      Work work = work(each, level);
      long count = work.count();
      long trees = work.trees();
      Place out = trees == 1 ? results : workspace(Math.multiplyExact(count, trees), each.result());
      Place looked = each.what().equals("match") ? best : level.in();
      steps.add(new Step(launch(work), level.in(), looked, out));
      if (trees == 1) {
        return levels;
      }
      boolean alongRows = work.alongRows();
      Axis kept = new Axis(count, alongRows ? trees : 1);
      Axis reduced = new Axis(trees, alongRows ? 1 : count);
      level =
          new Level(new ReducedAxes(count == 1 ? List.of() : List.of(kept), List.of(reduced)), out);
      each = each.ofResults();
    }
  }

  /** Adds the launch that finds the places of the best numbers in a level's sequences. */
  private void choose(Combination match, Level level, Place best, Place results) {
    Work work = work(match, level);
    Kernel kernel = kernel(work, "chosen", 1);
    long threadBlocks = Ceil.div(work.count(), kernel.shape().threads() / LANES);
    steps.add(new Step(launch(work, kernel, threadBlocks, 1, 1), level.in(), best, results));
  }

  private Work work(Combination combination, Level level) {
    boolean isAligned = level.in().side() == Side.WORKSPACE || arrayIsAligned;
    return new Work(combination, level.axes(), isAligned);
  }

  private KernelLaunch launch(Work work) {
    Optional<Kernel> packed = packed(work);
    if (packed.isPresent()) {
      return packed(work, packed.get());
    }
    if (work.alongRows()) {
      Kernel kernel = kernel(work, "rows", 1);
      long trees = Math.multiplyExact(work.count(), work.trees());
      return launch(work, kernel, Ceil.div(trees, kernel.shape().threads() / LANES), 1, 1);
    }
    if (work.length() <= SHORT) {
      Kernel kernel = kernel(work, "columns_short", work.length());
      return launch(work, kernel, Ceil.div(work.count(), kernel.shape().threads()), 1, 1);
    }
    Kernel kernel = kernel(work, "columns", work.treeSize());
    int branches = work.treeSize() / (kernel.shape().rows() / LANES);
    int warps = kernel.shape().threads() / LANES;
    int columns = LANES * (warps / Math.min(branches, warps));
    long threadBlocks = Math.multiplyExact(Ceil.div(work.count(), columns), work.trees());
    return launch(work, kernel, threadBlocks, branches, 1);
  }

  /**
   * The kernel of the packed form with the widest loads that the work allows; empty if none is
   * suitable.
   */
  private Optional<Kernel> packed(Work work) {
    int width = work.combination().element().bytes();
    if (!work.isPacked() || (work.trees() > 1 && width > NARROW_BYTES)) {
      return Optional.empty();
    }
    return device.findAll(work.combination().family("packed"), width).stream()
        .filter(kernel -> work.takesVectors(kernel.shape().cols()))
        .filter(kernel -> LANES * kernel.shape().rows() * kernel.shape().cols() >= work.treeSize())
        .max(Comparator.comparingInt(kernel -> kernel.shape().cols()));
  }

  private KernelLaunch packed(Work work, Kernel kernel) {
    int vectors = work.treeSize() / kernel.shape().cols();
    int loads = Math.min(Math.max(1, vectors / PACKED_LANES), kernel.shape().rows());
    int group = vectors / loads;
    long ofWarp = (long) (LANES / group) * (kernel.shape().rows() / loads);
    long trees = Math.multiplyExact(work.count(), work.trees());
    long threadBlocks = Ceil.div(trees, kernel.shape().threads() / LANES * ofWarp);
    return launch(work, kernel, threadBlocks, group, loads);
  }

  /** The kernel of a form with the fewest rows, but at least {@code rows}. */
  private Kernel kernel(Work work, String form, long rows) {
    String family = work.combination().family(form);
    return device.findAll(family, work.combination().element().bytes()).stream()
        .filter(kernel -> kernel.shape().rows() >= rows)
        .min(Comparator.comparingInt(kernel -> kernel.shape().rows()))
        .orElseThrow(
            () ->
                new UnsupportedOperationException(
                    "This jar has no kernel %s for %s"
                        .formatted(family, device.limits().architecture())));
  }

  /**
   * The launch of a kernel for some work.
   *
   * @param group lanes of a tree in the packed form, or branches of a tree of columns; a power of
   *     two
   * @param loads loads per lane and tree in the packed form; a power of two
   */
  private KernelLaunch launch(Work work, Kernel kernel, long threadBlocks, int group, int loads) {
    int threads = kernel.shape().threads();
    return new KernelLaunch(
        kernel.name(),
        LaunchConfig.forPieces(threadBlocks, threads, 0, device.limits()),
        words(work, group, loads));
  }

  /** The fields of {@code ReduceArguments} after the pointers. */
  private static long[] words(Work work, int group, int loads) {
    ReducedAxes axes = work.axes();
    return new long[] {
      work.count(),
      work.length(),
      work.trees(),
      inner(axes.kept()).extent(),
      inner(axes.kept()).stride(),
      outerStride(axes.kept()),
      inner(axes.reduced()).extent(),
      inner(axes.reduced()).stride(),
      outerStride(axes.reduced()),
      Integer.numberOfTrailingZeros(group),
      Integer.numberOfTrailingZeros(loads)
    };
  }

  private static Axis inner(List<Axis> axes) {
    return axes.isEmpty() ? new Axis(1, 0) : axes.get(axes.size() - 1);
  }

  private static long outerStride(List<Axis> axes) {
    return axes.size() < MOST_AXES ? 0 : axes.get(0).stride();
  }
}
