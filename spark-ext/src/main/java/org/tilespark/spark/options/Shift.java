package org.tilespark.spark.options;

import java.util.Locale;

/** The sides of a transform whose origin is in the middle rather than at the first element. */
public enum Shift {
  /** Neither side. */
  NONE,
  /** The spectrum. */
  SPECTRUM,
  /** The volume. */
  VOLUME,
  /** Both the spectrum and the volume. */
  BOTH;

  /** True if the spectrum's origin is in the middle. */
  public boolean ofSpectrum() {
    return this == SPECTRUM || this == BOTH;
  }

  /** True if the volume's origin is in the middle. */
  public boolean ofVolume() {
    return this == VOLUME || this == BOTH;
  }

  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
