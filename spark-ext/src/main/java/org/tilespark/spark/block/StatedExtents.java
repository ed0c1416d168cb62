package org.tilespark.spark.block;

import java.util.Locale;
import java.util.Optional;
import org.tilespark.layout.Shape;

/**
 * The extents of a whole array as a user states them.
 *
 * @param shape the extents; empty if the user says that they are not known
 */
public record StatedExtents(Optional<Shape> shape) {
  /** Extents that the user states as known. */
  public static StatedExtents of(Shape shape) {
    return new StatedExtents(Optional.of(shape));
  }

  /**
   * Reads {@code "10000,784"} or {@link ArrayMetadata#UNKNOWN}.
   *
   * @param what name of the parameter or option, for messages: {@code "matrix_transpose: extents"}
   * @throws IllegalArgumentException if the text is no shape of this rank
   */
  public static StatedExtents parse(String what, String text, int rank) {
    return text.trim().toLowerCase(Locale.ROOT).equals(ArrayMetadata.UNKNOWN)
        ? new StatedExtents(Optional.empty())
        : of(Shape.parse(what, text, rank));
  }
}
