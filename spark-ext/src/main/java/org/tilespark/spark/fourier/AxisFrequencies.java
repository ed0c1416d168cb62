package org.tilespark.spark.fourier;

import java.io.Serializable;

/**
 * The frequencies along one axis of a spectrum, in cycles per unit of the spacing, as numpy's
 * {@code fftfreq} and {@code rfftfreq}.
 *
 * @param extent extent of the axis before the transform
 * @param spacing distance between samples before the transform
 * @param isHalf true if only frequencies 0 to extent / 2 are kept
 * @param isShifted true if frequency 0 is in the middle, at extent / 2
 */
public record AxisFrequencies(long extent, double spacing, boolean isHalf, boolean isShifted)
    implements Serializable {
  /** Checks that the extent is 1 or more, and the spacing finite and not 0. */
  public AxisFrequencies {
    if (extent < 1 || !Double.isFinite(spacing) || spacing == 0) {
      throw new IllegalArgumentException(
          "Frequencies of " + extent + " samples at spacing " + spacing);
    }
    if (isHalf && isShifted) {
      throw new IllegalArgumentException("A half axis has its frequency 0 first");
    }
  }

  /** The number of frequencies along the axis of the spectrum. */
  public long count() {
    return isHalf ? extent / 2 + 1 : extent;
  }

  /**
   * The frequency at an index from 0 to before {@link #count()}, as a count of cycles over the
   * extent.
   */
  public long cycles(long index) {
    if (isHalf) {
      return index;
    }
    if (isShifted) {
      return index - extent / 2;
    }
    return index < extent - extent / 2 ? index : index - extent;
  }

  /**
   * The frequency at an index from 0 to before {@link #count()}, in cycles per unit of the spacing.
   */
  public double at(long index) {
    return cycles(index) / (extent * spacing);
  }

  /** The largest absolute value of a frequency along the axis. */
  public double highest() {
    long half = extent / 2; // index of the highest frequency: rounded down
    return half / (extent * Math.abs(spacing));
  }

  /**
   * The number of elements of the full spectrum that an element of half a spectrum represents: 2 if
   * the mirrored frequency was left out, otherwise 1.
   */
  public int weight(long index) {
    return isHalf && index > 0 && 2 * index < extent ? 2 : 1;
  }
}
