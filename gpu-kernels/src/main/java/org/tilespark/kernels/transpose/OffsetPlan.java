package org.tilespark.kernels.transpose;

/**
 * A plan and the offsets of its input and output in their buffers.
 *
 * @param plan the plan to run
 * @param inOffset bytes from the input buffer's start to the plan's input
 * @param outOffset bytes from the output buffer's start to the plan's output
 */
public record OffsetPlan(TransposePlan plan, long inOffset, long outOffset) {}
