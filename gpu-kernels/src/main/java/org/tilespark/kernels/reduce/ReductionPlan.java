package org.tilespark.kernels.reduce;

import java.util.List;
import org.tilespark.kernels.launch.KernelLaunch;

/**
 * The launches of a device for a {@link ReductionProblem}, one after another.
 *
 * @param steps the launches in their order
 * @param workspaceBytes bytes of device memory for results that later launches read
 */
public record ReductionPlan(List<Step> steps, long workspaceBytes) {
  /** The memory in which a launch's input or output is. */
  public enum Side {
    /** The array that is reduced. */
    IN,
    /** The memory of the results. */
    OUT,
    /** The workspace. */
    WORKSPACE
  }

  /** A place in one of these memories, {@code bytes} bytes from its start. */
  public record Place(Side side, long bytes) {}

  /**
   * One launch, and the places of its input and output.
   *
   * @param launch the launch, complete except for three pointers: to {@code in}, {@code best} and
   *     {@code out}
   * @param in place of the numbers to reduce
   * @param best place of the numbers whose places in their sequences are sought; equal to {@code
   *     in} if none are sought
   * @param out place of the launch's results
   */
  public record Step(KernelLaunch launch, Place in, Place best, Place out) {}

  /** Copies the list. */
  public ReductionPlan {
    steps = List.copyOf(steps);
  }
}
