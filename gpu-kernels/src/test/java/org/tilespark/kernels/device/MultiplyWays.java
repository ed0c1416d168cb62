package org.tilespark.kernels.device;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.tilespark.kernels.HostMemory;
import org.tilespark.kernels.Multiplier;
import org.tilespark.kernels.MultiplierChecks;
import org.tilespark.kernels.plan.MultiplyPlan;
import org.tilespark.kernels.plan.MultiplyProblem;
import org.tilespark.kernels.plan.MultiplyStrategy;
import org.tilespark.kernels.plan.Precision;
import org.tilespark.layout.ElementType;

/** Products on a device by each of the ways that the planner may choose. */
abstract class MultiplyWays extends MultiplierChecks {
  private static final String SKINNY = "multiply_skinny";
  private static final int EVEN_BYTES = 16; // of which the copy engine takes multiples

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

  @Override
  protected int chainOfDoubles() {
    return OpenMultiplier.CHAIN_OF_DOUBLES;
  }

  /**
   * One of the ways that the planner may choose, on buffers that hold what lies between the rows
   * too, at offsets of their own.
   */
  final class OneWay implements Multiplier {
    private final String name;
    private final int shift; // elements before A; before B and C one and two more, unless 0

    OneWay(MultiplyPlan plan) {
      this(plan, 3);
    }

    OneWay(MultiplyPlan plan, int shift) {
      this.name = name(plan);
      this.shift = shift;
    }

    private OneWay(String name, int shift) {
      this.name = name;
      this.shift = shift;
    }

    /** The same from so many elements after the start. */
    OneWay at(int elements) {
      return new OneWay(name, elements);
    }

    /** The kernel, whichever way operands are stored. */
    private String name(MultiplyPlan plan) {
      return plan.strategy()
          .way()
          .orElseThrow()
          .name()
          .replaceFirst("_[nt]{2}_w", "_w")
          .replaceFirst("_split_across_", "_split_")
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
        multiplier.enqueue(plan(problem), deviceA, atA, deviceB, atB, deviceC, atC, stream);
        stream.download(deviceC, atC, hostC.memory());
        stream.synchronize();
        hostC.memory().copyTo(c);
      }
    }

    /** By this way; what it cannot do goes by rule. */
    MultiplyPlan plan(MultiplyProblem problem) {
      return byThisWay(problem).orElseGet(() -> multiplier.plan(problem).orElseThrow());
    }

    private Optional<MultiplyPlan> byThisWay(MultiplyProblem problem) {
      return multiplier.candidates(problem).stream()
          .filter(plan -> name(plan).equals(name))
          .findFirst();
    }

    /** True if it does not go by rule. */
    boolean takes(MultiplyProblem problem) {
      return byThisWay(problem).isPresent();
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

    boolean isOwn(MultiplyProblem problem) {
      return !(plan(problem).strategy() instanceof MultiplyStrategy.Cublas);
    }

    /** True of the kernels for operands of which one, at least, does not lie along K. */
    boolean readsAcrossAlone() {
      return isPhased() || name.contains("_fused_tf32_");
    }

    /** True of the kernels for rows of doubles that begin at odd places or end within a tile. */
    boolean isPhased() {
      return name.contains("_phased_");
    }

    /** True of the kernels for products with a small extent. */
    boolean isSkinny() {
      return name.equals(SKINNY);
    }

    @Override
    public void close() {}

    @Override
    public String toString() {
      return name;
    }
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
    // Some are for rows that begin unevenly alone.
    MultiplyProblem uneven = MultiplyProblem.dense(63, 63, 63, type, false, false);
    // Others for a C of whole columns of tiles.
    MultiplyProblem whole = MultiplyProblem.dense(64, 64, 128, type, false, false);
    for (MultiplyProblem each :
        List.of(
            any(type, precision),
            uneven.withPrecision(precision),
            whole.withPrecision(precision))) {
      for (MultiplyPlan plan : multiplier.candidates(each)) {
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

  /** The kernels for products with a small extent; other products go by rule. */
  final OneWay skinny(ElementType type, Precision precision, int shift) {
    MultiplyProblem narrow =
        MultiplyProblem.dense(64, 64, 1, type, false, false).withPrecision(precision);
    MultiplyPlan plan =
        multiplier.candidates(narrow).stream()
            .filter(each -> each.strategy() instanceof MultiplyStrategy.Skinny)
            .findFirst()
            .orElseThrow();
    return new OneWay(plan, shift);
  }
}
