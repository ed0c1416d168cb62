package org.tilespark.kernels.multiply;

/** The planner's answer: a {@link MultiplyPlan}, or why there is none. */
public sealed interface MultiplyDecision permits MultiplyPlan, MultiplyDecision.Unsupported {
  /** True if there is a plan. */
  boolean isSupported();

  /** One line: how it will run, or why it will not. */
  String describe();

  /**
   * The plan.
   *
   * @throws UnsupportedOperationException with the reason, if there is none
   */
  MultiplyPlan orElseThrow();

  /**
   * Nothing here multiplies this problem on this device.
   *
   * @param reason why, and what helps
   */
  record Unsupported(String reason) implements MultiplyDecision {
    @Override
    public boolean isSupported() {
      return false;
    }

    @Override
    public String describe() {
      return reason;
    }

    @Override
    public MultiplyPlan orElseThrow() {
      throw new UnsupportedOperationException(reason);
    }
  }
}
