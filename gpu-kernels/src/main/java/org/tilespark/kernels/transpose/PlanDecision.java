package org.tilespark.kernels.transpose;

/** The planner's answer: a {@link TransposePlan}, or why there is none. */
public sealed interface PlanDecision permits TransposePlan, PlanDecision.Unsupported {
  /** True if there is a plan. */
  boolean isSupported();

  /** One line: how it will run, or why it will not. */
  String describe();

  /**
   * The plan.
   *
   * @throws UnsupportedOperationException with the reason, if there is none
   */
  TransposePlan orElseThrow();

  /**
   * No kernel of this jar answers the problem on this device.
   *
   * @param reason why, for EXPLAIN and the log
   */
  record Unsupported(String reason) implements PlanDecision {
    @Override
    public boolean isSupported() {
      return false;
    }

    @Override
    public String describe() {
      return reason;
    }

    @Override
    public TransposePlan orElseThrow() {
      throw new UnsupportedOperationException(reason);
    }
  }
}
