package org.tilespark.kernels.reduce;

import java.util.List;
import org.tilespark.kernels.launch.KernelLaunch;

/**
 * What a device runs for a {@link ReductionProblem}, one launch after another.
 *
 * @param steps in order
 * @param workspaceBytes of device memory for results that later steps take
 */
public record ReductionPlan(List<Step> steps, long workspaceBytes) {
  /** Which memory. */
  public enum Side {
    /** The array. */
    IN,
    /** The results. */
    OUT,
    /** The workspace. */
    WORKSPACE
  }

  /** A place in one of them. */
  public record Place(Side side, long bytes) {}

  /**
   * One launch.
   *
   * @param launch ready but for three pointers, those to the places below in their order
   * @param in what is reduced
   * @param best what places are looked for; the same as {@code in} where none are
   * @param out the results
   */
  public record Step(KernelLaunch launch, Place in, Place best, Place out) {}

  /** Copies the list. */
  public ReductionPlan {
    steps = List.copyOf(steps);
  }
}
