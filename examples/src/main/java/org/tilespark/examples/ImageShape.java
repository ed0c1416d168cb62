package org.tilespark.examples;

import java.util.Optional;
import org.tilespark.examples.JobArguments.Option;
import org.tilespark.layout.Shape;

/** Rows and columns of the images that are stored as rows of a matrix. Stateless. */
final class ImageShape {
  /** {@code --image-shape R,C}. */
  static final Option OPTION =
      Option.checked("image-shape", text -> Shape.parse("the shape of an image", text, 2));

  private ImageShape() {}

  /**
   * Rows and columns from the option, or of a square; empty if their product is not {@code
   * numbers}.
   */
  static Optional<int[]> of(JobArguments arguments, int numbers) {
    long side = Math.round(Math.sqrt(numbers));
    Shape shape =
        arguments
            .option(OPTION.name())
            .map(text -> Shape.parse("Option --image-shape", text, 2))
            .orElse(Shape.of(side, side));
    return shape.elements() == numbers
        ? Optional.of(new int[] {(int) shape.extent(0), (int) shape.extent(1)})
        : Optional.empty();
  }
}
