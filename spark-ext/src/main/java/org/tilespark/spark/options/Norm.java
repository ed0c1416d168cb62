package org.tilespark.spark.options;

import java.util.Locale;

/** The transform, forward or inverse, that divides by the count of elements. */
public enum Norm {
  /** The inverse transform. */
  BACKWARD,
  /** Both transforms, each by the square root of the count. */
  ORTHO,
  /** The forward transform. */
  FORWARD;

  /** The factor of a transform of {@code elements} elements. */
  public double scale(double elements, boolean inverse) {
    return switch (this) {
      case BACKWARD -> inverse ? 1 / elements : 1;
      case ORTHO -> 1 / Math.sqrt(elements);
      case FORWARD -> inverse ? 1 : 1 / elements;
    };
  }

  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
