package org.tilespark.kernels.transpose;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Predicate;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.kernels.launch.DeviceKernels;
import org.tilespark.kernels.launch.KernelIndex;
import org.tilespark.kernels.launch.TuningTable;

/**
 * Turns a problem into a plan: a pure function of the problem, the device's limits and the
 * available kernels.
 *
 * <p>First the problem is simplified ({@link Move}). If one contiguous range is left on both sides,
 * the plan is a copy. A contiguous axis that stays in place and spans 2, 4, 8 or 16 bytes becomes
 * part of the element; longer or odd ones are moved as runs, short ones many at a time in {@link
 * TransposeStrategy.Packed} boxes. Any other problem is a two-dimensional transpose between the
 * input's innermost axis and the output's, batched over the axes that remain: {@code yzx} and
 * {@code zxy} have none, {@code xzy} has x, {@code zyx} has y. Of those,
 *
 * <ul>
 *   <li>one with at most {@value TransposeStrategy.Narrow#MOST} rows or columns, dense on that
 *       side, is {@link TransposeStrategy.Narrow}, unless there are many tiny matrices;
 *   <li>one with few rows or columns, or many tiny matrices, is {@link TransposeStrategy.Packed} if
 *       its boxes hold more than a tile would;
 *   <li>one whose pointers, strides and extents are multiples of 16 bytes is {@link
 *       TransposeStrategy.Vector};
 *   <li>any other is {@link TransposeStrategy.Shifted}.
 * </ul>
 *
 * <p>The tile of the last two is the best one for problems like this in the {@link TuningTable},
 * else the one that covers the matrices with the least waste.
 *
 * <p>Where neither side has a contiguous axis (possible with strides alone), elements move one by
 * one, as runs of length 1; the same happens if an input axis is read backwards, except for the
 * axis that is contiguous on both sides.
 */
public final class TransposePlanner {
  /**
   * The widest access of a kernel, in bytes; a pointer with this alignment is aligned for every
   * access.
   */
  public static final int MAX_ALIGNMENT = TransposeStrategy.VECTOR_BYTES;

  /** Runs of fewer bytes than this are copied unit by unit: they hardly contain whole vectors. */
  private static final int SHORT_RUN_BYTES = 32;

  /** Longest runs that are packed, if units are narrower than {@link #MAX_ALIGNMENT}. */
  private static final int PACKED_RUN_BYTES = 384;

  /** Bytes of the longest runs that are packed, if units have {@link #MAX_ALIGNMENT} bytes. */
  private static final int PACKED_ALIGNED_RUN_BYTES = 64;

  /** Extents up to which most of a tile stays empty, for elements of 1, 2, 4, 8 and 16 bytes. */
  private static final int[] SHORT_EXTENT = {48, 32, 24, 16, 8};

  /** Extents likewise for vector tiles, which waste less at edges. */
  private static final int[] SHORT_ALIGNED_EXTENT = {16, 16, 16, 12, 8};

  /** Matrices of fewer bytes leave most of a thread block idle. */
  private static final int TINY_BYTES = 4096;

  /** The usual number of rows, and of columns, of a tile. */
  private static final int TILE_EXTENT = 64;

  /**
   * Most bytes of shared memory of a packed box: with more, too few thread blocks fit on a
   * multiprocessor.
   */
  private static final int PACKED_SHARED_BYTES = 40 << 10;

  /** The least number of packed boxes per multiprocessor, if there are enough elements. */
  private static final long PACKED_BOXES = 4;

  private static final Comparator<KernelIndex.Kernel> LARGEST_FIRST =
      Comparator.comparingInt(
              (KernelIndex.Kernel kernel) -> -kernel.shape().rows() * kernel.shape().cols())
          .thenComparingInt(kernel -> -kernel.shape().rows())
          .thenComparingInt(kernel -> -kernel.shape().threads());

  /**
   * The tiles that suit large matrices best: 16 KiB, or 8 KiB if words are assembled from narrower
   * elements.
   */
  private static final Set<String> PREFERRED =
      Set.of(
          "transpose_vector_w1_128x128x64",
          "transpose_vector_w2_64x128x128",
          "transpose_vector_w4_64x64x256",
          "transpose_vector_w8_64x32x256",
          "transpose_vector_w16_32x32x256",
          "transpose_shifted_w1_128x128x128",
          "transpose_shifted_w2_64x64x64",
          "transpose_shifted_w4_64x64x256",
          "transpose_shifted_w8_32x32x128");

  private TransposePlanner() {}

  /**
   * The plan that {@link #plan(TransposeProblem, int, DeviceKernels, TuningTable)} gives with the
   * tilings of the rule.
   */
  public static Availability<TransposePlan> plan(
      TransposeProblem problem, int alignmentBytes, DeviceKernels device) {
    return plan(problem, alignmentBytes, device, TuningTable.empty());
  }

  /**
   * The plan for buffers that begin at multiples of {@code alignmentBytes}.
   *
   * @param problem the transpose
   * @param alignmentBytes a power of two that divides the addresses of input and output, at least
   *     the element width; more than {@link #MAX_ALIGNMENT} helps no further
   * @param device the device's limits and the kernels of this jar
   * @param tilings the tilings that are known to be the best for their classes; for other classes a
   *     rule decides
   * @throws IllegalArgumentException if the alignment is less than the element's width
   */
  public static Availability<TransposePlan> plan(
      TransposeProblem problem,
      int alignmentBytes,
      DeviceKernels device,
      TuningTable<ProblemClass, Tiling> tilings) {
    if (alignmentBytes < problem.elementBytes() || Integer.bitCount(alignmentBytes) != 1) {
      throw new IllegalArgumentException(
          ("Buffers aligned to %s bytes; elements of %s bytes need a multiple of their" + " width")
              .formatted(alignmentBytes, problem.elementBytes()));
    }
    if (problem.bytes() == 0) {
      return Availability.of(
          new TransposePlan(problem, new TransposeStrategy.Copy(0), Optional.empty()));
    }
    Move move = Move.of(problem);
    if (move.isCopy()) {
      return Availability.of(
          new TransposePlan(
              problem, new TransposeStrategy.Copy(problem.bytes()), Optional.empty()));
    }
    return new Choice(problem, Math.min(alignmentBytes, MAX_ALIGNMENT), device, tilings).of(move);
  }

  /**
   * Plans for the same problem with other tilings, whose edge tiles waste at most twice as much as
   * the best one's; empty if {@code plan} is not tiled.
   *
   * @param plan a result of {@link #plan} for the same device and kernels; the first of the
   *     returned plans
   */
  public static List<TransposePlan> alternatives(TransposePlan plan, DeviceKernels device) {
    if (!(plan.strategy() instanceof TransposeStrategy.Tiled chosen)) {
      return List.of();
    }
    MatrixBatch matrices = chosen.matrices();
    List<KernelIndex.Kernel> kernels = device.findAll(chosen.family(), matrices.elementBytes());
    double least =
        kernels.stream().mapToDouble(kernel -> covered(matrices, kernel)).min().orElse(0);
    List<TransposePlan> plans = new ArrayList<>(List.of(plan));
    for (KernelIndex.Kernel kernel : kernels) {
      for (TileOrder order : TileOrder.values()) {
        TransposeStrategy strategy =
            tiled(chosen.family(), matrices, kernel, order, device.index());
        if (covered(matrices, kernel) <= 2 * least && !strategy.equals(chosen)) {
          plans.add(new TransposePlan(plan.problem(), strategy, strategy.launch(device.limits())));
        }
      }
    }
    return plans;
  }

  /** The class of problems that {@code plan} belongs to; empty if it is not tiled. */
  public static Optional<ProblemClass> problemClass(TransposePlan plan) {
    return plan.strategy() instanceof TransposeStrategy.Tiled chosen
        ? Optional.of(ProblemClass.of(chosen))
        : Optional.empty();
  }

  /** The tiling of {@code plan}; empty if it is not tiled. */
  public static Optional<Tiling> tiling(TransposePlan plan) {
    return plan.strategy() instanceof TransposeStrategy.Tiled chosen
        ? Optional.of(new Tiling(chosen.kernel().name().replace("_exact_w", "_w"), chosen.order()))
        : Optional.empty();
  }

  private static TransposeStrategy tiled(
      String family,
      MatrixBatch matrices,
      KernelIndex.Kernel kernel,
      TileOrder order,
      KernelIndex index) {
    return family.equals(TransposeStrategy.Vector.FAMILY)
        ? TransposeStrategy.Vector.of(matrices, kernel, order, index)
        : new TransposeStrategy.Shifted(matrices, kernel, order);
  }

  /** The number of elements that the tiles of a kernel cover, including those beyond the edges. */
  private static double covered(MatrixBatch matrices, KernelIndex.Kernel kernel) {
    return Math.ceil((double) matrices.rows() / kernel.shape().rows())
        * kernel.shape().rows()
        * Math.ceil((double) matrices.cols() / kernel.shape().cols())
        * kernel.shape().cols();
  }

  /** The choice of a plan for one problem. */
  private record Choice(
      TransposeProblem problem,
      int alignment,
      DeviceKernels device,
      TuningTable<ProblemClass, Tiling> tilings) {
    Availability<TransposePlan> of(Move move) {
      OptionalInt found = move.runAxis();
      if (move.isReversed()) {
        return found.isPresent()
            ? runs(
                move.elementBytes(),
                move.axes().get(found.getAsInt()).extent(),
                move.without(found.getAsInt()))
            : runs(move.elementBytes(), 1, move.axes());
      }
      if (found.isPresent()) {
        int run = found.getAsInt();
        long runBytes = move.axes().get(run).extent() * move.elementBytes();
        if (runBytes > alignment || Long.bitCount(runBytes) != 1 || !move.absorbs(run)) {
          return packedRuns(move, run)
              .map(Availability::of)
              .orElseGet(
                  () ->
                      runs(move.elementBytes(), move.axes().get(run).extent(), move.without(run)));
        }
        return of(move.absorb(run));
      }
      OptionalInt rows = move.outInnermost();
      OptionalInt cols = move.inInnermost();
      return rows.isPresent() && cols.isPresent()
          ? matrices(move, MatrixBatch.of(move, rows.getAsInt(), cols.getAsInt()))
          : runs(move.elementBytes(), 1, move.axes());
    }

    /** Bytes of the widest access that divides the runs and is aligned at their starts. */
    private int unitBytes(int elementBytes, long run, List<Axis> outer) {
      long common = alignment | run * elementBytes; // its lowest bit divides every address
      for (Axis axis : outer) {
        common |= axis.inStride() * elementBytes | axis.outStride() * elementBytes;
      }
      return (int) Long.lowestOneBit(common);
    }

    /** A plan with packed boxes for short runs, in the widest possible units. */
    private Optional<TransposePlan> packedRuns(Move move, int runAxis) {
      long run = move.axes().get(runAxis).extent();
      long runBytes = run * move.elementBytes();
      int unitBytes = unitBytes(move.elementBytes(), run, move.without(runAxis));
      boolean aligned = unitBytes == MAX_ALIGNMENT;
      return runBytes <= (aligned ? PACKED_ALIGNED_RUN_BYTES : PACKED_RUN_BYTES)
          ? packed(
              move.inUnits(unitBytes),
              box -> box.inRunBytes() >= 2 * runBytes && box.outRunBytes() >= 2 * runBytes)
          : Optional.empty();
    }

    private Optional<TransposePlan> packed(Move move, Predicate<PackedBox> wanted) {
      return device
          .find("permute_packed", move.elementBytes())
          .flatMap(
              kernel ->
                  PackedBoxChoice.choose(
                          move,
                          kernel.shape().threads(),
                          Math.min(PACKED_SHARED_BYTES, device.limits().sharedBytesPerBlock()),
                          PACKED_BOXES * device.limits().multiprocessors())
                      .filter(wanted)
                      .map(box -> new TransposeStrategy.Packed(box, kernel)))
          .map(chosen -> new TransposePlan(problem, chosen, chosen.launch(device.limits())));
    }

    private Availability<TransposePlan> runs(int elementBytes, long run, List<Axis> outer) {
      long runBytes = run * elementBytes;
      int unitBytes = unitBytes(elementBytes, run, outer);
      if (unitBytes < MAX_ALIGNMENT && runBytes >= SHORT_RUN_BYTES) {
        return decide(
            outer,
            device.find("copy_shifted", elementBytes),
            elementBytes,
            kernel -> new TransposeStrategy.ShiftedCopy(elementBytes, run, outer, kernel));
      }
      int elements = unitBytes / elementBytes; // elements of a unit
      List<Axis> inUnits =
          outer.stream()
              .map(
                  axis ->
                      new Axis(
                          axis.extent(), axis.inStride() / elements, axis.outStride() / elements))
              .toList();
      return decide(
          inUnits,
          device.find("copy_strided", unitBytes),
          unitBytes,
          kernel -> new TransposeStrategy.StridedCopy(unitBytes, run / elements, inUnits, kernel));
    }

    private Availability<TransposePlan> matrices(Move move, MatrixBatch matrices) {
      int width = matrices.elementBytes();
      int perVector = matrices.perVector(MAX_ALIGNMENT);
      boolean vectors =
          alignment == MAX_ALIGNMENT
              && matrices.stridesAreMultiplesOf(perVector)
              && matrices.rows() % perVector == 0
              && matrices.cols() % perVector == 0;
      boolean split =
          matrices.cols() <= TransposeStrategy.Narrow.MOST
              && matrices.inRowStride() == matrices.cols();
      boolean merge =
          matrices.rows() <= TransposeStrategy.Narrow.MOST
              && matrices.outRowStride() == matrices.rows();
      Optional<TransposePlan> packed =
          packedMatrices(
              move, matrices, split || merge, vectors ? SHORT_ALIGNED_EXTENT : SHORT_EXTENT);
      if (packed.isPresent()) {
        return Availability.of(packed.get());
      }
      if (split || merge) {
        // Only pieces along the long extent must begin at multiples of 16 bytes.
        boolean whole = alignment == MAX_ALIGNMENT && narrowIsAligned(matrices, split, perVector);
        String family =
            (split ? "split_narrow" : "merge_narrow")
                + (whole || width == 16 ? "" : TransposeStrategy.Narrow.SHIFTED);
        return decide(
            matrices.outer(),
            device.find(family, width),
            width,
            kernel -> new TransposeStrategy.Narrow(matrices, split, kernel));
      }
      return tiles(matrices, vectors);
    }

    /**
     * A plan with packed boxes for matrices that do not fill a tile, or, if {@code narrow}, not
     * even a thread block.
     */
    private Optional<TransposePlan> packedMatrices(
        Move move, MatrixBatch matrices, boolean narrow, int[] shortExtent) {
      int width = matrices.elementBytes();
      long rows = matrices.rows();
      long cols = matrices.cols();
      boolean few = Math.min(rows, cols) <= shortExtent[Integer.numberOfTrailingZeros(width)];
      boolean tiny = matrices.count() > 1 && (double) rows * cols * width < TINY_BYTES;
      long inTile = Math.min(rows, TILE_EXTENT) * Math.min(cols, TILE_EXTENT);
      return tiny || (few && !narrow)
          ? packed(move, box -> box.elements() >= 2 * inTile)
          : Optional.empty();
    }

    private Availability<TransposePlan> tiles(MatrixBatch matrices, boolean vectors) {
      String family = vectors ? TransposeStrategy.Vector.FAMILY : TransposeStrategy.Shifted.FAMILY;
      List<KernelIndex.Kernel> kernels = device.findAll(family, matrices.elementBytes());
      Optional<Tiling> tuned = tilings.find(ProblemClass.of(matrices, vectors));
      Optional<KernelIndex.Kernel> tunedKernel =
          tuned.flatMap(
              tiling ->
                  kernels.stream()
                      .filter(kernel -> kernel.name().equals(tiling.kernel()))
                      .findFirst());
      TileOrder order = tunedKernel.isPresent() ? tuned.get().order() : TileOrder.of(matrices);
      return decide(
          matrices.outer(),
          tunedKernel.or(() -> leastWaste(matrices, kernels)),
          matrices.elementBytes(),
          kernel -> tiled(family, matrices, kernel, order, device.index()));
    }

    private static boolean narrowIsAligned(MatrixBatch matrices, boolean split, int perVector) {
      long stride = split ? matrices.outRowStride() : matrices.inRowStride();
      return stride % perVector == 0
          && matrices.outer().stream()
              .allMatch(
                  axis -> axis.inStride() % perVector == 0 && axis.outStride() % perVector == 0);
    }

    /**
     * The kernel whose tiles cover the matrices with the fewest elements; the preferred one (then
     * the largest, with the longer output rows) unless another covers a tenth less.
     */
    private static Optional<KernelIndex.Kernel> leastWaste(
        MatrixBatch matrices, List<KernelIndex.Kernel> kernels) {
      KernelIndex.Kernel best = null;
      double least = Double.MAX_VALUE;
      List<KernelIndex.Kernel> sorted =
          kernels.stream()
              .sorted(
                  Comparator.comparing(
                          (KernelIndex.Kernel kernel) -> !PREFERRED.contains(kernel.name()))
                      .thenComparing(LARGEST_FIRST))
              .toList();
      for (KernelIndex.Kernel kernel : sorted) {
        double covered = covered(matrices, kernel);
        boolean fuller =
            best != null
                && covered == least
                && area(kernel) == area(best)
                && edgeFill(matrices, kernel) > edgeFill(matrices, best);
        if (best == null || covered < 0.9 * least || fuller) {
          best = kernel;
          least = covered;
        }
      }
      return Optional.ofNullable(best);
    }

    private static int area(KernelIndex.Kernel kernel) {
      return kernel.shape().rows() * kernel.shape().cols();
    }

    /** The fraction of a tile that is used in the last row and column of tiles. */
    private static double edgeFill(MatrixBatch matrices, KernelIndex.Kernel kernel) {
      return fill(matrices.rows(), kernel.shape().rows())
          * fill(matrices.cols(), kernel.shape().cols());
    }

    private static double fill(long extent, int tile) {
      return extent % tile == 0 ? 1 : (double) (extent % tile) / tile;
    }

    /**
     * Checks what all kernels require: few enough outer axes, and a kernel that runs on this
     * device.
     */
    private Availability<TransposePlan> decide(
        List<Axis> outer,
        Optional<KernelIndex.Kernel> kernel,
        int width,
        Function<KernelIndex.Kernel, TransposeStrategy> strategy) {
      if (outer.size() > TransposeStrategy.MAX_OUTER) {
        return Availability.not(
            "Shape %s under %s has %s outer axes after fusion; device kernels take at most %s"
                .formatted(
                    problem.shape(),
                    problem.permutation(),
                    outer.size(),
                    TransposeStrategy.MAX_OUTER));
      }
      if (kernel.isEmpty()) {
        return Availability.not(
            device.index().isEmpty()
                ? "this jar was built without nvcc and has no device kernels"
                : "no kernel of width %s for %s; this jar has %s"
                    .formatted(width, device.limits().architecture(), device.index()));
      }
      TransposeStrategy chosen = strategy.apply(kernel.get());
      return Availability.of(new TransposePlan(problem, chosen, chosen.launch(device.limits())));
    }
  }
}
