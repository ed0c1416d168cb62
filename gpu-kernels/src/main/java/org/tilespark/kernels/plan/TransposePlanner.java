package org.tilespark.kernels.plan;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.tilespark.layout.AxisFusion;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Strides;

/**
 * Turns a problem into a plan: a pure function of the problem, the device's limits and the kernels
 * there are.
 *
 * <p>First the problem is simplified ({@link AxisFusion}). What then changes nothing is a copy. An
 * innermost axis that stays in place and spans 2, 4, 8 or 16 bytes becomes part of the element;
 * longer or odd ones are moved as runs. All else is a two-dimensional transpose between the input's
 * innermost axis and the output's, batched over the axes that remain: {@code yzx} and {@code zxy}
 * have none, {@code xzy} has x, {@code zyx} has y.
 */
public final class TransposePlanner {
  /** The widest access of a kernel, in bytes; a pointer aligned to it is aligned for all. */
  public static final int MAX_ALIGNMENT = 16;

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
    AxisFusion fused = AxisFusion.of(problem.shape(), problem.permutation());
    if (fused.isCopy()) {
      return new TransposePlan(
          problem, new TransposeStrategy.Copy(problem.bytes()), Optional.empty());
    }
    int alignment = Math.min(alignmentBytes, MAX_ALIGNMENT);
    int elementBytes = problem.elementBytes();
    if (fused.keepsInnermost()) {
      long runBytes = fused.shape().extent(fused.rank() - 1) * elementBytes;
      if (runBytes > alignment || Long.bitCount(runBytes) != 1) {
        return stridedCopy(problem, fused, runBytes, alignment, limits, index);
      }
      fused = fused.withoutInnermost();
      elementBytes = (int) runBytes;
    }
    return tiled(problem, fused, elementBytes, limits, index);
  }

  private static PlanDecision stridedCopy(
      TransposeProblem problem,
      AxisFusion fused,
      long runBytes,
      int alignment,
      DeviceLimits limits,
      KernelIndex index) {
    int unitBytes = (int) Math.min(alignment, Long.lowestOneBit(runBytes));
    int unitsPerElement = unitBytes / problem.elementBytes();
    List<Axis> outer = new ArrayList<>();
    Permutation permutation = fused.permutation();
    for (int i = 0; i < fused.rank() - 1; i++) {
      outer.add(axis(fused, permutation.axis(i), i, unitsPerElement));
    }
    return decide(
        problem,
        outer,
        index.find("copy_strided", unitBytes, limits),
        unitBytes,
        limits,
        index,
        kernel ->
            new TransposeStrategy.StridedCopy(unitBytes, runBytes / unitBytes, outer, kernel));
  }

  private static PlanDecision tiled(
      TransposeProblem problem,
      AxisFusion fused,
      int elementBytes,
      DeviceLimits limits,
      KernelIndex index) {
    Permutation permutation = fused.permutation();
    int rank = fused.rank();
    int colAxis = rank - 1;
    int rowAxis = permutation.axis(rank - 1);
    List<Axis> outer = new ArrayList<>();
    Axis rows = null;
    Axis cols = null;
    for (int i = 0; i < rank; i++) {
      Axis axis = axis(fused, permutation.axis(i), i, 1);
      if (permutation.axis(i) == rowAxis) {
        rows = axis;
      } else if (permutation.axis(i) == colAxis) {
        cols = axis;
      } else {
        outer.add(axis);
      }
    }
    Axis in = rows;
    Axis out = cols;
    return decide(
        problem,
        outer,
        index.find("transpose_tiled", elementBytes, limits),
        elementBytes,
        limits,
        index,
        kernel ->
            new TransposeStrategy.Tiled(
                elementBytes,
                in.extent(),
                out.extent(),
                in.inStride(),
                out.outStride(),
                outer,
                kernel));
  }

  /** What both kernels need: few enough outer axes, and a kernel that runs here. */
  private static PlanDecision decide(
      TransposeProblem problem,
      List<Axis> outer,
      Optional<KernelIndex.Kernel> kernel,
      int width,
      DeviceLimits limits,
      KernelIndex index,
      java.util.function.Function<KernelIndex.Kernel, TransposeStrategy> strategy) {
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

  /** Input axis {@code inAxis}, which is output axis {@code outAxis}, with strides in units. */
  private static Axis axis(AxisFusion fused, int inAxis, int outAxis, int elementsPerUnit) {
    Strides in = Strides.rowMajor(fused.shape());
    Strides out = Strides.rowMajor(fused.permutation().apply(fused.shape()));
    return new Axis(
        fused.shape().extent(inAxis),
        in.stride(inAxis) / elementsPerUnit,
        out.stride(outAxis) / elementsPerUnit);
  }
}
