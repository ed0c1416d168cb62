package org.tilespark.spark.options;

import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;

/** A window function, which multiplies the elements along one axis: the symmetric ones of numpy. */
public enum Window {
  /** Ones. */
  NONE(1, 0, 0),
  /** {@code 0.5 - 0.5 cos(2 pi i / (n - 1))}. */
  HANN(0.5, 0.5, 0),
  /** {@code 0.54 - 0.46 cos(2 pi i / (n - 1))}. */
  HAMMING(0.54, 0.46, 0),
  /** {@code 0.42 - 0.5 cos(2 pi i / (n - 1)) + 0.08 cos(4 pi i / (n - 1))}. */
  BLACKMAN(0.42, 0.5, 0.08);

  private final double constant;
  private final double first;
  private final double second;

  Window(double constant, double first, double second) {
    this.constant = constant;
    this.first = first;
    this.second = second;
  }

  /**
   * Reads a name, ignoring case.
   *
   * @throws IllegalArgumentException if there is no window of this name
   */
  public static Window parse(String text) {
    for (Window window : values()) {
      if (window.toString().equalsIgnoreCase(text.trim())) {
        return window;
      }
    }
    throw new IllegalArgumentException(
        "window is '"
            + text
            + "'; expected "
            + Arrays.stream(values()).map(Window::toString).collect(Collectors.joining(", ")));
  }

  /**
   * The window's factors for elements from {@code low} on, along an axis of {@code extent}.
   *
   * @param count number of elements
   */
  public double[] factors(long extent, long low, int count) {
    double[] factors = new double[count];
    double step = extent == 1 ? 0 : 2 * Math.PI / (extent - 1);
    for (int i = 0; i < count; i++) {
      double angle = step * (low + i);
      factors[i] =
          extent == 1 ? 1 : constant - first * Math.cos(angle) + second * Math.cos(2 * angle);
    }
    return factors;
  }

  /** The name as users write it. */
  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
