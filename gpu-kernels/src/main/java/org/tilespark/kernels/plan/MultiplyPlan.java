package org.tilespark.kernels.plan;

import java.util.Objects;
import java.util.Optional;

/**
 * How one multiply runs on one device: nothing is left to decide.
 *
 * @param problem what is asked
 * @param strategy how it is answered
 * @param launch the launch of an own kernel; empty for the others
 */
public record MultiplyPlan(
    MultiplyProblem problem, MultiplyStrategy strategy, Optional<KernelLaunch> launch)
    implements MultiplyDecision {
  /** Checks that nothing is missing. */
  public MultiplyPlan {
    Objects.requireNonNull(problem, "problem");
    Objects.requireNonNull(strategy, "strategy");
    Objects.requireNonNull(launch, "launch");
  }

  /** Device memory that is used beside the operands while it runs. */
  public long workspaceBytes() {
    return strategy.workspaceBytes();
  }

  @Override
  public boolean isSupported() {
    return true;
  }

  @Override
  public String describe() {
    return strategy.describe();
  }

  @Override
  public MultiplyPlan orElseThrow() {
    return this;
  }
}
