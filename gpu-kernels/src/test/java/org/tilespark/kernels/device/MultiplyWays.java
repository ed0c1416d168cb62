package org.tilespark.kernels.device;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.tilespark.kernels.launch.DeviceKernels;
import org.tilespark.kernels.launch.DeviceLimits;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.multiply.Multiplier;
import org.tilespark.kernels.multiply.MultiplierChecks;
import org.tilespark.kernels.multiply.MultiplyEngine;
import org.tilespark.kernels.multiply.MultiplyPlan;
import org.tilespark.kernels.multiply.MultiplyPlanner;
import org.tilespark.kernels.multiply.MultiplyProblem;
import org.tilespark.kernels.multiply.MultiplyStrategy;
import org.tilespark.kernels.multiply.MultiplyWay;
import org.tilespark.kernels.multiply.Precision;
import org.tilespark.layout.ElementType;

/**
 * Products on a device by each of the ways that the planner may choose.
 *
 * <p>A test that names a way gets that way or fails: {@link OneWay#plan} refuses problems that the
 * way does not take, instead of planning them by rule. A test whose problems do not all suit a way
 * asks {@link OneWay#takes} first; it fails if the way took none of them.
 */
abstract class MultiplyWays extends MultiplierChecks {
  private static final String SKINNY = "multiply_skinny";
  private static final String SPLIT = "multiply_split";
  private static final int MOST_SKINNY = 16; // SkinnySteps.MOST
  private static final int MOST_SHALLOW = 4; // steps of K, of lower precisions
  private static final int WHOLE_TILE = 128; // columns of tiles of shared multiprocessors
  private static final int LEAST_SPLIT = 64; // TensorPlans.SPLIT_LEAST_TERMS
  private static final int EVEN_BYTES = 16; // of which the copy engine takes multiples

  private final Map<String, Boolean> taken = new TreeMap<>(); // by the ways asked in this test
  private OpenMultiplier open;
  CudaDevice device;
  DeviceMultiplier multiplier;

  @BeforeAll
  final void open() {
    open = OpenMultiplier.first();
    device = open.device();
    multiplier = open.multiplier();
  }

  @AfterAll
  final void close() {
    if (open != null) {
      open.close();
    }
  }

  @BeforeEach
  final void forgetWays() {
    taken.clear();
  }

  @AfterEach
  final void requireWaysTaken() {
    List<String> idle =
        taken.entrySet().stream().filter(way -> !way.getValue()).map(Map.Entry::getKey).toList();
    assertEquals(List.of(), idle, "ways that were asked for and took no problem of this test");
  }

  @Override
  protected boolean takes(Multiplier multiplier, MultiplyProblem problem) {
    return !(multiplier instanceof OneWay way) || way.takes(problem);
  }

  @Override
  protected int chainOfDoubles() {
    return OpenMultiplier.CHAIN_OF_DOUBLES;
  }

  /**
   * One of the ways that the planner may choose, on buffers with gaps between the rows, at offsets
   * of their own.
   */
  final class OneWay implements Multiplier {
    private final String name;
    private final int shift; // elements before A; before B and C one and two more, unless 0
    private final int processors; // of the device that plans are for; 0: the device's own

    OneWay(MultiplyPlan plan) {
      this(plan, 3);
    }

    OneWay(MultiplyPlan plan, int shift) {
      this.name = name(plan);
      this.shift = shift;
      this.processors = 0;
    }

    private OneWay(String name, int shift, int processors) {
      this.name = name;
      this.shift = shift;
      this.processors = processors;
    }

    /** This way from {@code elements} elements after the start. */
    OneWay at(int elements) {
      return new OneWay(name, elements, processors);
    }

    /**
     * This way with plans for a device of {@code multiprocessors} multiprocessors, whatever this
     * one has.
     */
    OneWay plannedFor(int multiprocessors) {
      return new OneWay(name, shift, multiprocessors);
    }

    private List<MultiplyPlan> candidates(MultiplyProblem problem) {
      return processors == 0
          ? multiplier.planner().candidates(problem, problem.k())
          : new MultiplyPlanner(
                  new DeviceKernels(withMultiprocessors(processors), device.kernels().index()),
                  multiplier.cublas(),
                  MultiplyEngine.AUTO)
              .candidates(problem, problem.k());
    }

    /** The kernel, whichever way operands are stored. */
    private String name(MultiplyPlan plan) {
      return plan.strategy()
          .way()
          .orElseThrow()
          .name()
          .replaceFirst("_[nt]{2}_w", "_w")
          .replaceFirst("^" + SPLIT + "_across_", SPLIT + "_")
          .replaceFirst(SKINNY + "_.*", SKINNY);
    }

    @Override
    public void multiply(MultiplyProblem problem, HostMemory a, HostMemory b, HostMemory c) {
      long width = problem.type().bytes();
      long atA = shift * width;
      long atB = atA + (shift == 0 ? 0 : width);
      long atC = atB + (shift == 0 ? 0 : width);
      try (CudaStream stream = device.newStream();
          PinnedBuffer hostA = device.allocatePinned(a.bytes());
          PinnedBuffer hostB = device.allocatePinned(b.bytes());
          PinnedBuffer hostC = device.allocatePinned(c.bytes());
          DeviceBuffer deviceA = device.allocate(a.bytes() + atA, stream);
          DeviceBuffer deviceB = device.allocate(b.bytes() + atB, stream);
          DeviceBuffer deviceC = device.allocate(c.bytes() + atC, stream)) {
        a.copyTo(hostA.memory());
        b.copyTo(hostB.memory());
        c.copyTo(hostC.memory());
        stream.upload(hostA.memory(), deviceA, atA);
        stream.upload(hostB.memory(), deviceB, atB);
        stream.upload(hostC.memory(), deviceC, atC);
        multiplier.enqueue(
            plan(problem),
            new DeviceMultiplier.Operands(deviceA, atA, deviceB, atB, deviceC, atC),
            stream);
        stream.download(deviceC, atC, hostC.memory());
        stream.synchronize();
        hostC.memory().copyTo(c);
      }
    }

    /** By this way; fails if the way does not take the problem. */
    MultiplyPlan plan(MultiplyProblem problem) {
      return byThisWay(problem)
          .orElseThrow(
              () ->
                  new AssertionError(
                      name
                          + " was asked for "
                          + problem
                          + " and does not take it; by rule it goes by "
                          + multiplier.plan(problem).map(MultiplyPlan::describe)
                          + "; ask takes(problem) first, or take extents from near()"));
    }

    private Optional<MultiplyPlan> byThisWay(MultiplyProblem problem) {
      Optional<MultiplyPlan> plan =
          candidates(problem).stream().filter(each -> name(each).equals(name)).findFirst();
      taken.merge(name, plan.isPresent(), Boolean::logicalOr);
      return plan;
    }

    /** True if it takes this problem; of those that a test asks for it must take one. */
    boolean takes(MultiplyProblem problem) {
      return byThisWay(problem).isPresent();
    }

    /**
     * Extents close to these that the way takes, if the storage suits it: a small one for skinny
     * kernels, enough terms for a split, one chain for kernels that make no more, whole tiles for
     * those that two thread blocks of a multiprocessor run.
     */
    long[] near(long... shape) {
      long m = shape[0];
      long k = shape[1];
      long n = shape[2];
      if (isSkinny()) {
        boolean isShallow = k <= MOST_SKINNY && m > MOST_SKINNY && n > MOST_SKINNY;
        return isShallow
            ? new long[] {m, (k - 1) % MOST_SHALLOW + 1, n}
            : Math.min(m, n) <= MOST_SKINNY
                ? new long[] {m, k, n}
                : new long[] {m, k, (n - 1) % MOST_SKINNY + 1};
      }
      long terms =
          isSplit() ? Math.max(k, LEAST_SPLIT) : isOneChain() ? Math.min(k, chainOfDoubles()) : k;
      return new long[] {
        m, terms, isWholeTilesAlone() ? (n + WHOLE_TILE - 1) / WHOLE_TILE * WHOLE_TILE : n
      };
    }

    /** The kernels that are launched; none by cuBLAS. */
    Set<String> kernels(MultiplyProblem problem) {
      long width = problem.type().bytes();
      return plan(problem)
          .steps(isEven(shift * width), isEven((shift == 0 ? 0 : shift + 1) * width))
          .stream()
          .map(step -> step.launch().kernel())
          .collect(Collectors.toSet());
    }

    private boolean isEven(long bytes) {
      return bytes % EVEN_BYTES == 0;
    }

    /** False of cuBLAS. */
    boolean isOwn() {
      return !name.equals(MultiplyWay.CUBLAS.name());
    }

    /** True of the kernels that cut floats into three parts. */
    boolean isSplit() {
      return name.startsWith(SPLIT);
    }

    /** True of the kernels that make tiles of DOUBLE on the tensor cores of sm_90a. */
    boolean isDoublesOnTensorCores() {
      return name.startsWith("multiply_double");
    }

    /** True of the kernels for doubles whose K is one chain, and so not long. */
    boolean isOneChain() {
      return name.contains("_chain_");
    }

    /** True of the kernels for operands of which one, at least, is not stored along K. */
    boolean readsAcrossAlone() {
      return name.contains("_fused_tf32_");
    }

    /** True of the kernels for a C of whole columns of tiles. */
    private boolean isWholeTilesAlone() {
      return name.matches("multiply_fused_.*_128x128x256");
    }

    /** True of the kernels for products with a small extent. */
    boolean isSkinny() {
      return name.equals(SKINNY);
    }

    @Override
    public void close() {}

    @Override
    public String toString() {
      return name + (processors == 0 ? "" : " for " + processors + " multiprocessors");
    }
  }

  /** This device with another count of multiprocessors. */
  private DeviceLimits withMultiprocessors(int multiprocessors) {
    DeviceLimits limits = device.limits();
    return new DeviceLimits(
        limits.computeMajor(),
        limits.computeMinor(),
        multiprocessors,
        limits.maxThreadsPerBlock(),
        limits.maxGridX(),
        limits.sharedBytesPerBlock(),
        limits.globalBytes());
  }

  private static MultiplyProblem any(ElementType type, Precision precision) {
    return MultiplyProblem.dense(64, 64, 64, type, false, false).withPrecision(precision);
  }

  final List<OneWay> ways(ElementType type) {
    return ways(type, Precision.FULL);
  }

  final List<OneWay> ways(ElementType type, Precision precision) {
    List<OneWay> ways = new ArrayList<>();
    Set<String> names = new HashSet<>();
    // Some are for a C of whole columns of tiles alone.
    MultiplyProblem whole = MultiplyProblem.dense(64, 64, 128, type, false, false);
    for (MultiplyProblem each : List.of(any(type, precision), whole.withPrecision(precision))) {
      for (MultiplyPlan plan : multiplier.planner().candidates(each, each.k())) {
        OneWay way = new OneWay(plan);
        if (names.add(way.name)) {
          System.out.println(type + ", " + precision + ": " + plan.describe());
          ways.add(way);
        }
      }
    }
    if (hasNarrow(precision)) {
      ways.add(skinny(type, precision, 3));
    }
    return ways;
  }

  /** True if the device has kernels for products with a small extent. */
  final boolean hasNarrow(Precision precision) {
    return precision == Precision.FULL || device.limits().computeMajor() >= 8;
  }

  /** The split, which not all devices have. */
  final Optional<OneWay> split() {
    return ways(ElementType.FLOAT32).stream().filter(OneWay::isSplit).findFirst();
  }

  /** The kernels for products with a small extent. */
  final OneWay skinny(ElementType type, Precision precision, int shift) {
    MultiplyProblem narrow =
        MultiplyProblem.dense(64, 64, 1, type, false, false).withPrecision(precision);
    MultiplyPlan plan =
        multiplier.planner().candidates(narrow, narrow.k()).stream()
            .filter(each -> each.strategy() instanceof MultiplyStrategy.Skinny)
            .findFirst()
            .orElseThrow();
    return new OneWay(plan, shift);
  }
}
