package org.tilespark.kernels.transpose;

/**
 * One axis of a move: its extent, and its strides in input and output.
 *
 * @param extent number of elements along the axis
 * @param inStride elements between neighbours in the input; negative if the axis is read backwards
 * @param outStride elements between neighbours in the output
 */
public record Axis(long extent, long inStride, long outStride) {
  /** Checks that the extent is positive. */
  public Axis {
    if (extent < 1) {
      throw new IllegalArgumentException("Axis of extent " + extent + "; expected 1 or more");
    }
  }
}
