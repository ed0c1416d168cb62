package org.tilespark.kernels.multiply;

import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.tilespark.kernels.launch.DeviceLimits;
import org.tilespark.kernels.launch.KernelIndex;

/**
 * The ways that a device and this jar have to multiply on the tensor cores, and the memory that
 * they take. Pure functions.
 */
final class TensorPlans {
  /** What makes the tiles that a kernel of {@link TensorForm#SPLIT} leaves alone. */
  private static final String REPAIR = "repair_split";

  /** Kernels of {@code multiply_parts.cu}. */
  private static final String SUMMING = "multiply_parts";

  /**
   * Sums of fewer terms are not split: what the split leaves out, up to 14 u |A||B| in the checks
   * of the lab (dev/bench lab), would be more than 2 u sqrt(K).
   */
  private static final long SPLIT_LEAST_TERMS = 64;

  /** Packed operands take no larger part of a device's memory. */
  private static final int MEMORY_SHARE = 4;

  private TensorPlans() {}

  /**
   * The ways for a problem, those that are fused last; none where the jar lacks a kernel that it
   * takes, for this device, or where operands are too large.
   */
  static List<MultiplyPlan> of(
      MultiplyProblem problem, long terms, DeviceLimits limits, KernelIndex index) {
    TensorForm form = TensorForm.of(problem);
    if (problem.k() == 0
        || !TensorWorkspace.canCount(problem, form)
        || (form == TensorForm.SPLIT && Math.max(terms, problem.k()) < SPLIT_LEAST_TERMS)) {
      return List.of();
    }
    Optional<List<KernelIndex.Kernel>> packers = packers(form, problem, limits, index);
    if (packers.isEmpty()) {
      return List.of();
    }
    Optional<KernelIndex.Kernel> summing = summing(problem, limits, index);
    List<KernelIndex.Kernel> packed = kernels(form, problem, limits, index);
    Stream<MultiplyStrategy.Tensor> packing =
        packed.stream()
            .filter(kernel -> !TensorForm.isPhased(kernel) || DoubleSteps.canPhase(problem))
            .filter(
                kernel ->
                    !TensorForm.isOneChain(kernel)
                        || problem.k()
                            <= form.panel()
                                * MultiplyStrategy.Tensor.chain(Math.max(terms, problem.k())))
            .map(
                kernel ->
                    tensor(
                        problem,
                        terms,
                        new MultiplyStrategy.Tensor.Kernels(kernel, packers.get(), summing),
                        limits));
    Stream<MultiplyStrategy.Tensor> fused =
        packed.isEmpty() || !FusedSteps.isFusible(problem, true, true)
            ? Stream.empty()
            : index.findAll(form.fusedFamily(problem), problem.type().bytes(), limits).stream()
                .filter(
                    kernel ->
                        kernel.traits().blocksPerProcessor() == 1
                            || FusedSteps.isEvenC(problem, kernel.shape()))
                .map(
                    kernel ->
                        tensor(
                            problem,
                            terms,
                            new MultiplyStrategy.Tensor.Kernels(
                                kernel,
                                List.of(packers.get().get(0), unfused(packed, problem, limits)),
                                summing),
                            limits));
    return Stream.concat(packing, fused)
        .filter(tensor -> tensor.workspaceBytes() <= limits.globalBytes() / MEMORY_SHARE)
        .map(tensor -> new MultiplyPlan(problem, tensor, Optional.empty()))
        .toList();
  }

  /**
   * Device memory that any of these may use beside the operands, of this problem or of one of
   * smaller extents or of fewer products.
   */
  static long mostWorkspaceBytes(MultiplyProblem problem, DeviceLimits limits, KernelIndex index) {
    TensorForm form = TensorForm.of(problem);
    if (kernels(form, problem, limits, index).isEmpty()) {
      return 0;
    }
    long most = limits.globalBytes() / MEMORY_SHARE;
    int cutFor = summing(problem, limits, index).isPresent() ? limits.multiprocessors() : 0;
    return TensorWorkspace.canCount(problem, form)
        ? Math.min(most, TensorWorkspace.mostBytes(form, problem, cutFor))
        : most;
  }

  /** What multiplies where operands begin unevenly, so that none can be fused. */
  private static KernelIndex.Kernel unfused(
      List<KernelIndex.Kernel> packed, MultiplyProblem problem, DeviceLimits limits) {
    return packed.stream()
        .min(
            Comparator.comparing(
                    (KernelIndex.Kernel kernel) -> kernel.family().startsWith(TensorForm.MMA))
                .thenComparingDouble(kernel -> MultiplyCost.cost(problem, kernel, limits)))
        .orElseThrow();
  }

  private static MultiplyStrategy.Tensor tensor(
      MultiplyProblem problem,
      long terms,
      MultiplyStrategy.Tensor.Kernels kernels,
      DeviceLimits limits) {
    TensorForm form = TensorForm.of(problem);
    boolean canSum = kernels.summing().isPresent();
    long wanted = !canSum ? 1 : PartsOfK.parts(form, problem, limits.multiprocessors());
    long chunk = MultiplyStrategy.Tensor.chunk(form, problem.k(), wanted);
    long parts = PartsOfK.partsOfChunk(form, Math.min(chunk, problem.k()), wanted);
    long atOnce = parts > 1 ? 1 : TensorWorkspace.atOnce(form, problem, chunk);
    MultiplyStrategy.Tensor.Rest rest =
        !canSum || parts > 1 || form != TensorForm.FLOAT64 || TensorForm.isOneChain(kernels.main())
            ? MultiplyStrategy.Tensor.Rest.NONE
            : PartsOfK.rest(problem, kernels.main().shape(), limits.multiprocessors());
    return new MultiplyStrategy.Tensor(
        form,
        kernels,
        new MultiplyStrategy.Tensor.Sums(
            chunk, MultiplyStrategy.Tensor.chain(Math.max(terms, problem.k())), parts, rest),
        limits.multiprocessors(),
        atOnce,
        TensorWorkspace.bytes(form, problem, chunk, parts, atOnce)
            + TensorWorkspace.restBytes(problem, rest));
  }

  /** The kernels that multiply operands of a form. */
  static List<KernelIndex.Kernel> kernels(
      TensorForm form, MultiplyProblem problem, DeviceLimits limits, KernelIndex index) {
    return form.families(problem).stream()
        .flatMap(family -> index.findAll(family, form.elementOfA().bytes(), limits).stream())
        .toList();
  }

  /** What a form takes beside the kernel that multiplies, if all of it is there. */
  private static Optional<List<KernelIndex.Kernel>> packers(
      TensorForm form, MultiplyProblem problem, DeviceLimits limits, KernelIndex index) {
    Optional<KernelIndex.Kernel> packer =
        index.find(form.packer(problem), form.element().bytes(), limits);
    if (form != TensorForm.SPLIT) {
      return packer.map(List::of);
    }
    Optional<KernelIndex.Kernel> repair = index.find(REPAIR, Float.BYTES, limits);
    return packer.isPresent() && repair.isPresent()
        ? Optional.of(List.of(packer.get(), repair.get()))
        : Optional.empty();
  }

  /** What sums products that were cut along K. */
  static Optional<KernelIndex.Kernel> summing(
      MultiplyProblem problem, DeviceLimits limits, KernelIndex index) {
    return index.find(SUMMING, problem.type().bytes(), limits);
  }
}
