package org.tilespark.kernels.plan;

import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/**
 * Turns a problem into a plan: a pure function of the problem, the device's limits and the kernels
 * there are.
 *
 * <p>First the problem is simplified ({@link Move}). What then is one contiguous range on both
 * sides is a copy. A contiguous axis that stays in place and spans 2, 4, 8 or 16 bytes becomes part
 * of the element; longer or odd ones are moved as runs. All else is a two-dimensional transpose
 * between the input's innermost axis and the output's, batched over the axes that remain: {@code
 * yzx} and {@code zxy} have none, {@code xzy} has x, {@code zyx} has y. Of those,
 *
 * <ul>
 *   <li>one with at most {@value TransposeStrategy.Narrow#MOST} rows or columns, dense on that
 *       side, is {@link TransposeStrategy.Narrow};
 *   <li>one whose pointers, strides and extents are multiples of 16 bytes is {@link
 *       TransposeStrategy.Vector}, by the tile that covers it with the least waste;
 *   <li>any other is {@link TransposeStrategy.Shifted}.
 * </ul>
 *
 * <p>Where neither side has a contiguous axis (possible with strides alone), elements move one by
 * one, as runs of length 1.
 */
public final class TransposePlanner {
  /** The widest access of a kernel, in bytes; a pointer aligned to it is aligned for all. */
  public static final int MAX_ALIGNMENT = TransposeStrategy.VECTOR_BYTES;

  /** Runs shorter than this go unit by unit: there are hardly whole vectors in them. */
  private static final int SHORT_RUN_BYTES = 32;

  private static final Comparator<KernelIndex.Kernel> LARGEST_FIRST =
      Comparator.comparingInt(
              (KernelIndex.Kernel kernel) -> -kernel.shape().rows() * kernel.shape().cols())
          .thenComparingInt(kernel -> -kernel.shape().rows());

  private TransposePlanner() {}

  /**
   * The plan for buffers that begin at multiples of {@code alignmentBytes}.
   *
   * @param problem what is asked
   * @param alignmentBytes a power of two that divides both addresses, at least the element width;
   *     more than {@link #MAX_ALIGNMENT} helps no further
   * @param limits the device
   * @param index the kernels of this jar
   * @throws IllegalArgumentException if the alignment is less than the element's width
   */
  public static PlanDecision plan(
      TransposeProblem problem, int alignmentBytes, DeviceLimits limits, KernelIndex index) {
    if (alignmentBytes < problem.elementBytes() || Integer.bitCount(alignmentBytes) != 1) {
      throw new IllegalArgumentException(
          "Buffers aligned to "
              + alignmentBytes
              + " bytes; elements of "
              + problem.elementBytes()
              + " bytes need a multiple of their width");
    }
    if (problem.bytes() == 0) {
      return new TransposePlan(problem, new TransposeStrategy.Copy(0), Optional.empty());
    }
    Move move = Move.of(problem);
    if (move.isCopy()) {
      return new TransposePlan(
          problem, new TransposeStrategy.Copy(problem.bytes()), Optional.empty());
    }
    return new Choice(problem, Math.min(alignmentBytes, MAX_ALIGNMENT), limits, index).of(move);
  }

  /** The choice for one problem. */
  private record Choice(
      TransposeProblem problem, int alignment, DeviceLimits limits, KernelIndex index) {
    PlanDecision of(Move move) {
      int run = move.runAxis();
      if (run >= 0) {
        long runBytes = move.axes().get(run).extent() * move.elementBytes();
        if (runBytes > alignment || Long.bitCount(runBytes) != 1 || !move.absorbs(run)) {
          return runs(move.elementBytes(), move.axes().get(run).extent(), move.without(run));
        }
        return of(move.absorb(run));
      }
      int rows = move.outInnermost();
      int cols = move.inInnermost();
      return rows >= 0 && cols >= 0
          ? matrices(MatrixBatch.of(move, rows, cols))
          : runs(move.elementBytes(), 1, move.axes());
    }

    private PlanDecision runs(int elementBytes, long run, List<Axis> outer) {
      long runBytes = run * elementBytes;
      long common = alignment | runBytes; // what divides every address, as its lowest bit
      for (Axis axis : outer) {
        common |= axis.inStride() * elementBytes | axis.outStride() * elementBytes;
      }
      int unitBytes = (int) Long.lowestOneBit(common);
      if (unitBytes < MAX_ALIGNMENT && runBytes >= SHORT_RUN_BYTES) {
        return decide(
            outer,
            index.find("copy_shifted", elementBytes, limits),
            elementBytes,
            kernel -> new TransposeStrategy.ShiftedCopy(elementBytes, run, outer, kernel));
      }
      int elements = unitBytes / elementBytes; // of a unit
      List<Axis> inUnits =
          outer.stream()
              .map(
                  axis ->
                      new Axis(
                          axis.extent(), axis.inStride() / elements, axis.outStride() / elements))
              .toList();
      return decide(
          inUnits,
          index.find("copy_strided", unitBytes, limits),
          unitBytes,
          kernel -> new TransposeStrategy.StridedCopy(unitBytes, run / elements, inUnits, kernel));
    }

    private PlanDecision matrices(MatrixBatch matrices) {
      int width = matrices.elementBytes();
      int perVector = matrices.perVector(MAX_ALIGNMENT);
      boolean aligned = alignment == MAX_ALIGNMENT && matrices.stridesAreMultiplesOf(perVector);
      boolean split =
          matrices.cols() <= TransposeStrategy.Narrow.MOST
              && matrices.inRowStride() == matrices.cols();
      boolean merge =
          matrices.rows() <= TransposeStrategy.Narrow.MOST
              && matrices.outRowStride() == matrices.rows();
      if (split || merge) {
        // Only the long side's pieces must begin at multiples of 16 bytes.
        boolean vectors = alignment == MAX_ALIGNMENT && narrowIsAligned(matrices, split, perVector);
        String family =
            (split ? "split_narrow" : "merge_narrow") + (vectors || width == 16 ? "" : "_any");
        return decide(
            matrices.outer(),
            index.find(family, width, limits),
            width,
            kernel -> new TransposeStrategy.Narrow(matrices, split, kernel));
      }
      if (aligned && matrices.rows() % perVector == 0 && matrices.cols() % perVector == 0) {
        return decide(
            matrices.outer(),
            leastWaste(matrices),
            width,
            kernel -> new TransposeStrategy.Vector(matrices, kernel));
      }
      return decide(
          matrices.outer(),
          index.find("transpose_shifted", width, limits),
          width,
          kernel -> new TransposeStrategy.Shifted(matrices, kernel));
    }

    private static boolean narrowIsAligned(MatrixBatch matrices, boolean split, int perVector) {
      long stride = split ? matrices.outRowStride() : matrices.inRowStride();
      return stride % perVector == 0
          && matrices.outer().stream()
              .allMatch(
                  axis -> axis.inStride() % perVector == 0 && axis.outStride() % perVector == 0);
    }

    /**
     * The vector kernel whose tiles cover the matrices with the fewest elements; that of the
     * largest tile (with the longer output rows) unless another saves a tenth. One without masks
     * where all tiles are full.
     */
    private Optional<KernelIndex.Kernel> leastWaste(MatrixBatch matrices) {
      KernelIndex.Kernel best = null;
      double least = Double.MAX_VALUE;
      List<KernelIndex.Kernel> kernels =
          index.findAll("transpose_vector", matrices.elementBytes(), limits).stream()
              .sorted(LARGEST_FIRST)
              .toList();
      for (KernelIndex.Kernel kernel : kernels) {
        double covered =
            covered(matrices.rows(), kernel.shape().rows())
                * covered(matrices.cols(), kernel.shape().cols());
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
      if (best == null) {
        return Optional.empty();
      }
      KernelIndex.TileShape tile = best.shape();
      KernelIndex.Kernel masked = best;
      return matrices.rows() % tile.rows() != 0 || matrices.cols() % tile.cols() != 0
          ? Optional.of(masked)
          : index.findAll("transpose_vector_exact", matrices.elementBytes(), limits).stream()
              .filter(kernel -> kernel.shape().equals(tile))
              .findFirst()
              .or(() -> Optional.of(masked));
    }

    private static int area(KernelIndex.Kernel kernel) {
      return kernel.shape().rows() * kernel.shape().cols();
    }

    /** The part of a tile that exists in the last row and column of tiles. */
    private static double edgeFill(MatrixBatch matrices, KernelIndex.Kernel kernel) {
      return fill(matrices.rows(), kernel.shape().rows())
          * fill(matrices.cols(), kernel.shape().cols());
    }

    private static double fill(long extent, int tile) {
      return extent % tile == 0 ? 1 : (double) (extent % tile) / tile;
    }

    private static double covered(long extent, int tile) {
      return Math.ceil((double) extent / tile) * tile;
    }

    /** What all kernels need: few enough outer axes, and a kernel that runs here. */
    private PlanDecision decide(
        List<Axis> outer,
        Optional<KernelIndex.Kernel> kernel,
        int width,
        Function<KernelIndex.Kernel, TransposeStrategy> strategy) {
      if (outer.size() > TransposeStrategy.MAX_OUTER) {
        return new PlanDecision.Unsupported(
            "Shape "
                + problem.shape()
                + " under "
                + problem.permutation()
                + " has "
                + outer.size()
                + " outer axes after fusion; device kernels take at most "
                + TransposeStrategy.MAX_OUTER);
      }
      if (kernel.isEmpty()) {
        return new PlanDecision.Unsupported(
            index.isEmpty()
                ? "this jar was built without nvcc and has no device kernels"
                : "no kernel of width "
                    + width
                    + " for "
                    + limits.architecture()
                    + "; this jar has "
                    + index);
      }
      TransposeStrategy chosen = strategy.apply(kernel.get());
      return new TransposePlan(problem, chosen, chosen.launch(limits));
    }
  }
}
