package org.tilespark.kernels.device;

import java.util.List;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.Function;
import org.tilespark.kernels.multiply.MultiplyPlan;
import org.tilespark.kernels.multiply.MultiplyStep;

/**
 * A multiply plan on one device. For each alignment of A and B, its steps are made ready ({@link
 * BoundSteps}) at first use and kept. Safe for several threads.
 */
final class BoundPlan {
  /**
   * The largest number of steps that are kept. Making a step ready takes about as long as queueing
   * it, and kept steps hold memory.
   */
  static final int MOST_KEPT_STEPS = 64;

  /** The alignment that the copy engine requires of matrices, in bytes. */
  private static final int MAP_ALIGNMENT = 16;

  private final MultiplyPlan plan;
  private final Function<List<MultiplyStep>, BoundSteps> binder;
  private final AtomicReferenceArray<BoundSteps> kept = new AtomicReferenceArray<>(4);

  BoundPlan(MultiplyPlan plan, Function<List<MultiplyStep>, BoundSteps> binder) {
    this.plan = plan;
    this.binder = binder;
  }

  /**
   * The steps for operands at these device addresses, and for all operands of the same alignment;
   * two threads may get different, equivalent objects.
   */
  BoundSteps steps(long a, long b) {
    boolean evenA = isEven(a);
    boolean evenB = isEven(b);
    int which = (evenA ? 1 : 0) + (evenB ? 2 : 0);
    BoundSteps known = kept.get(which);
    if (known == null) {
      List<MultiplyStep> steps = plan.steps(evenA, evenB);
      known = binder.apply(steps);
      if (steps.size() <= MOST_KEPT_STEPS) {
        kept.set(which, known);
      }
    }
    return known;
  }

  /** Bytes of device memory that a plan uses in addition to operands at these addresses. */
  static long workspaceBytes(MultiplyPlan plan, long a, long b) {
    return plan.workspaceBytes(isEven(a), isEven(b));
  }

  private static boolean isEven(long address) {
    return address % MAP_ALIGNMENT == 0;
  }
}
