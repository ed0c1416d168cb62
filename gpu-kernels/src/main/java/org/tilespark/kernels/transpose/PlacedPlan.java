package org.tilespark.kernels.transpose;

/**
 * A plan and where its input and output begin in their buffers.
 *
 * @param plan what to run
 * @param inOffset bytes from the input buffer's begin
 * @param outOffset bytes from the output buffer's begin
 */
public record PlacedPlan(TransposePlan plan, long inOffset, long outOffset) {}
