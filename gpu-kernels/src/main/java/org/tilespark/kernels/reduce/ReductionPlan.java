package org.tilespark.kernels.reduce;

import java.util.List;
import org.tilespark.kernels.launch.KernelLaunch;

/**
 * The launches of a device for a {@link ReductionProblem}, one after another.
 *
 * @param steps steps in their order
 * @param workspaceBytes bytes of device memory for results that later steps read
 */
public record ReductionPlan(List<Step> steps, long workspaceBytes) {
  /** The memory of a step's side. */
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
   * @param launch complete except for three pointers, to the places below in their order
   * @param in the numbers to reduce
   * @param best the results whose places are sought; equal to {@code in} if no places are sought
   * @param out the results
   */
  public record Step(KernelLaunch launch, Place in, Place best, Place out) {}

  /** Copies the list. */
  public ReductionPlan {
    steps = List.copyOf(steps);
  }
}
