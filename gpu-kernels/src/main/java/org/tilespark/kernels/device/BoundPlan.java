package org.tilespark.kernels.device;

import java.util.List;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.Function;
import org.tilespark.kernels.multiply.MultiplyPlan;
import org.tilespark.kernels.multiply.MultiplyStep;

/**
 * A plan on one device: its steps are bound at first use and kept, for each alignment of A and B.
 * Safe for several threads.
 */
final class BoundPlan {
  /**
   * Most steps that are kept. Binding a step takes about as long as queueing it, and kept steps
   * hold memory.
   */
  static final int MOST_KEPT_STEPS = 64;

  /** Alignment of the copy engine's matrices. */
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

  /** Device memory that a plan uses in addition to operands at these addresses. */
  static long workspaceBytes(MultiplyPlan plan, long a, long b) {
    return plan.workspaceBytes(isEven(a), isEven(b));
  }

  private static boolean isEven(long address) {
    return address % MAP_ALIGNMENT == 0;
  }
}
