package org.tilespark.kernels.transpose;

import java.util.Objects;
import java.util.Optional;
import org.tilespark.kernels.launch.KernelLaunch;

/**
 * How one problem runs on one device, with all decisions made.
 *
 * @param problem the transpose
 * @param strategy how the transpose is computed
 * @param launch the launch; empty if the driver copies the bytes, or there is nothing to move
 */
public record TransposePlan(
    TransposeProblem problem, TransposeStrategy strategy, Optional<KernelLaunch> launch) {
  /** Checks that no component is null. */
  public TransposePlan {
    Objects.requireNonNull(problem, "problem");
    Objects.requireNonNull(strategy, "strategy");
    Objects.requireNonNull(launch, "launch");
  }

  /** One line that describes the plan, for EXPLAIN and the log. */
  public String describe() {
    return strategy.describe();
  }
}
