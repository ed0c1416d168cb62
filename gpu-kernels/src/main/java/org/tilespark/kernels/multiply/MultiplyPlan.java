package org.tilespark.kernels.multiply;

import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Stream;
import org.tilespark.kernels.launch.KernelLaunch;

/**
 * How one multiply runs on one device, with all decisions made.
 *
 * @param problem the product; if C is only scaled, one without A and B (K = 0)
 * @param strategy how the product is computed
 * @param launch the launch, if the strategy is a single launch of our own kernel; otherwise empty
 */
public record MultiplyPlan(
    MultiplyProblem problem, MultiplyStrategy strategy, Optional<KernelLaunch> launch) {
  /** The pointers of kernels that multiply in a single launch. */
  private static final List<MultiplyStep.Place> OPERANDS =
      Stream.of(MultiplyStep.Side.A, MultiplyStep.Side.B, MultiplyStep.Side.C)
          .map(side -> new MultiplyStep.Place(side, 0))
          .toList();

  /** Checks that no component is null. */
  public MultiplyPlan {
    Objects.requireNonNull(problem, "problem");
    Objects.requireNonNull(strategy, "strategy");
    Objects.requireNonNull(launch, "launch");
  }

  /**
   * Device memory that the multiply needs besides its operands, in bytes; enough for any alignment
   * of them.
   */
  public long workspaceBytes() {
    return strategy.workspaceBytes();
  }

  /**
   * Bytes of workspace for operands with this alignment; at most {@link #workspaceBytes()}.
   *
   * @param evenA true if A begins at a multiple of 16 bytes, so that it may need no copy
   * @param evenB true if B begins at a multiple of 16 bytes
   */
  public long workspaceBytes(boolean evenA, boolean evenB) {
    return strategy.workspaceBytes(problem, evenA, evenB);
  }

  /**
   * The steps by our own kernels, in the order in which they run; empty for cuBLAS, and if there is
   * nothing to do. Products of a batch of {@link MultiplyStrategy.Skinny} run one after the other;
   * the steps are those of the first product.
   *
   * @param evenA true if A begins at a multiple of 16 bytes, so that it may need no copy
   * @param evenB true if B begins at a multiple of 16 bytes
   */
  public List<MultiplyStep> steps(boolean evenA, boolean evenB) {
    return launch.isPresent()
        ? List.of(new MultiplyStep(launch.get(), List.of(), OPERANDS))
        : strategy.steps(problem, evenA, evenB);
  }

  /** One line that describes the plan, for EXPLAIN and the log. */
  public String describe() {
    return strategy.describe();
  }
}
