package org.tilespark.kernels.multiply;

import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.tilespark.kernels.launch.DeviceKernels;
import org.tilespark.kernels.launch.DeviceLimits;
import org.tilespark.kernels.launch.KernelIndex;

/**
 * The plans with which a device and this jar can multiply on the tensor cores, and the memory that
 * they use. Pure functions.
 */
final class TensorPlans {
  /** Name of the kernel for the tiles that a kernel of {@link TensorForm#SPLIT} skips. */
  private static final String REPAIR = "repair_split";

  /** Family of the kernels of {@code multiply_parts.cu}. */
  private static final String SUMMING = "multiply_parts";

  /**
   * Sums of fewer terms do not use {@code SPLIT}: its error, up to 14 u |A||B| as measured, could
   * exceed 2 u sqrt(K).
   */
  private static final long SPLIT_LEAST_TERMS = 64;

  /** Packed operands take at most one part in this number of a device's memory. */
  private static final int MEMORY_SHARE = 4;

  private final MultiplyProblem problem;
  private final DeviceKernels device;
  private final DeviceLimits limits;
  private final TensorForm form;
  private final long terms;
  private final Optional<KernelIndex.Kernel> summing;

  private TensorPlans(MultiplyProblem problem, long terms, DeviceKernels device) {
    this.problem = problem;
    this.device = device;
    this.limits = device.limits();
    this.form = TensorForm.of(problem);
    this.terms = Math.max(terms, problem.k());
    this.summing = summing(problem, device);
  }

  /**
   * The plans for a problem, fused ones last. There are none if the jar lacks a kernel that the
   * problem needs on this device, or if operands are too large.
   */
  static List<MultiplyPlan> of(MultiplyProblem problem, long terms, DeviceKernels device) {
    return new TensorPlans(problem, terms, device).all();
  }

  private List<MultiplyPlan> all() {
    if (problem.k() == 0
        || !TensorWorkspace.canCount(problem, form)
        || (form == TensorForm.SPLIT && terms < SPLIT_LEAST_TERMS)) {
      return List.of();
    }
    Optional<List<KernelIndex.Kernel>> packers = packers();
    if (packers.isEmpty()) {
      return List.of();
    }
    List<KernelIndex.Kernel> packed = kernels(problem, device);
    Stream<MultiplyStrategy.Tensor> packing =
        packed.stream()
            .filter(
                kernel ->
                    !TensorForm.isOneChain(kernel)
                        || problem.k() <= form.panel() * MultiplyStrategy.Tensor.chain(terms))
            .map(kernel -> tensor(kernel, packers.get()));
    Stream<MultiplyStrategy.Tensor> fused =
        packed.isEmpty() || !FusedSteps.isFusible(problem, true, true)
            ? Stream.empty()
            : device.findAll(form.fusedFamily(problem), problem.type().bytes()).stream()
                .filter(
                    kernel ->
                        kernel.traits().blocksPerProcessor() == 1
                            || FusedSteps.isEvenC(problem, kernel.shape()))
                .map(kernel -> tensor(kernel, List.of(packers.get().get(0), unfused(packed))));
    return Stream.concat(packing, fused)
        .filter(tensor -> tensor.workspaceBytes() <= limits.globalBytes() / MEMORY_SHARE)
        .map(tensor -> new MultiplyPlan(problem, tensor, Optional.empty()))
        .toList();
  }

  /**
   * Bytes of device memory that any of these plans for this problem, or for one of smaller extents
   * or fewer products, may use in addition to the operands.
   */
  static long mostWorkspaceBytes(MultiplyProblem problem, DeviceKernels device) {
    TensorForm form = TensorForm.of(problem);
    if (kernels(problem, device).isEmpty()) {
      return 0;
    }
    DeviceLimits limits = device.limits();
    long most = limits.globalBytes() / MEMORY_SHARE;
    int cutFor = summing(problem, device).isPresent() ? limits.multiprocessors() : 0;
    return TensorWorkspace.canCount(problem, form)
        ? Math.min(most, TensorWorkspace.mostBytes(form, problem, cutFor))
        : most;
  }

  /** The kernel for problems whose operands are not aligned, for which no fused kernel works. */
  private KernelIndex.Kernel unfused(List<KernelIndex.Kernel> packed) {
    return packed.stream()
        .min(
            Comparator.comparing(
                    (KernelIndex.Kernel kernel) -> kernel.family().startsWith(TensorForm.MMA))
                .thenComparingDouble(kernel -> MultiplyCost.cost(problem, kernel, limits)))
        .orElseThrow();
  }

  private MultiplyStrategy.Tensor tensor(
      KernelIndex.Kernel kernel, List<KernelIndex.Kernel> packers) {
    int processors = limits.multiprocessors();
    long wanted = summing.isEmpty() ? 1 : PartsOfK.parts(form, problem, processors);
    long chunk = MultiplyStrategy.Tensor.chunk(form, problem.k(), wanted);
    long parts = PartsOfK.partsOfChunk(form, Math.min(chunk, problem.k()), wanted);
    long atOnce = parts > 1 ? 1 : TensorWorkspace.atOnce(form, problem, chunk);
    MultiplyStrategy.Tensor.Rest rest =
        summing.isEmpty()
                || parts > 1
                || form != TensorForm.FLOAT64
                || TensorForm.isOneChain(kernel)
            ? MultiplyStrategy.Tensor.Rest.NONE
            : PartsOfK.rest(problem, kernel.shape(), processors);
    return new MultiplyStrategy.Tensor(
        form,
        new MultiplyStrategy.Tensor.Kernels(kernel, packers, summing),
        new MultiplyStrategy.Tensor.Sums(chunk, MultiplyStrategy.Tensor.chain(terms), parts, rest),
        processors,
        atOnce,
        TensorWorkspace.bytes(form, problem, chunk, parts, atOnce)
            + TensorWorkspace.restBytes(problem, rest));
  }

  /** The kernels that multiply operands of the problem's form. */
  static List<KernelIndex.Kernel> kernels(MultiplyProblem problem, DeviceKernels device) {
    TensorForm form = TensorForm.of(problem);
    return form.families(problem).stream()
        .flatMap(family -> device.findAll(family, form.elementOfA().bytes()).stream())
        .toList();
  }

  /**
   * The kernels that the problem's form needs in addition to the kernel that multiplies, if this
   * jar has all of them.
   */
  private Optional<List<KernelIndex.Kernel>> packers() {
    Optional<KernelIndex.Kernel> packer = device.find(form.packer(problem), form.element().bytes());
    return form != TensorForm.SPLIT
        ? packer.map(List::of)
        : packer.flatMap(
            first -> device.find(REPAIR, Float.BYTES).map(repair -> List.of(first, repair)));
  }

  /** The kernel that sums the partial sums of products that were cut along K. */
  static Optional<KernelIndex.Kernel> summing(MultiplyProblem problem, DeviceKernels device) {
    return device.find(SUMMING, problem.type().bytes());
  }
}
