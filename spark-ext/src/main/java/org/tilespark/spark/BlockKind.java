package org.tilespark.spark;

import java.util.List;
import java.util.Locale;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.error.ErrorCondition;
import org.tilespark.spark.error.InvalidInputException;

/** The two kinds of blocks, with the names of their columns. */
@SuppressWarnings("ImmutableEnumChecker") // its lists are List.of
public enum BlockKind {
  /** Blocks of a matrix: {@code row, col, rows, cols, values[, imag]}. */
  MATRIX(List.of("row", "col"), List.of("rows", "cols")),
  /** Blocks of a volume: {@code x, y, z, nx, ny, nz, values[, imag]}. */
  VOLUME(List.of("x", "y", "z"), List.of("nx", "ny", "nz"));

  /** The column of the values, or of their real parts. */
  public static final String VALUES = "values";

  /** The column of the imaginary parts; only complex blocks have it. */
  public static final String IMAG = "imag";

  private final List<String> offsets;
  private final List<String> sizes;

  BlockKind(List<String> offsets, List<String> sizes) {
    this.offsets = offsets;
    this.sizes = sizes;
  }

  /** Count of axes: 2 or 3. */
  public int rank() {
    return offsets.size();
  }

  /** The BIGINT columns with the place of a block's first element, outermost axis first. */
  public List<String> offsetColumns() {
    return offsets;
  }

  /** The INT columns with a block's extents, outermost axis first. */
  public List<String> sizeColumns() {
    return sizes;
  }

  /**
   * The axis of a name.
   *
   * @param operator who asks, for the message
   * @param name of the axis' offset column, in any case
   * @throws IllegalArgumentException if there is no such axis
   */
  public int axis(String operator, String name) {
    int axis = offsets.indexOf(name.trim().toLowerCase(Locale.ROOT));
    if (axis < 0) {
      throw new InvalidInputException(
          ErrorCondition.INVALID_ARGUMENT,
          operator + ": axis is '" + name + "'; expected one of " + String.join(", ", offsets));
    }
    return axis;
  }

  /** {@code "matrix"} or {@code "volume"}, for messages. */
  public String label() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** The schema users read in messages. */
  public String columnsText() {
    return String.join(" BIGINT, ", offsets)
        + " BIGINT, "
        + String.join(" INT, ", sizes)
        + " INT, values ARRAY<T> [, imag ARRAY<T>]";
  }

  /**
   * How every message about bad data names a block: {@code block at row 4096, col 0}.
   *
   * @param offset place of its first element, {@link #rank()} numbers
   */
  public String describe(long[] offset) {
    StringBuilder text = new StringBuilder("block at ");
    for (int axis = 0; axis < offset.length; axis++) {
      text.append(axis == 0 ? "" : ", ").append(offsets.get(axis)).append(' ').append(offset[axis]);
    }
    return text.toString();
  }

  /** The kind's axes in words for a permutation: {@code "transposed"} or {@code "yzx"}. */
  public String axesText(Permutation permutation) {
    if (this == MATRIX) {
      return permutation.isIdentity() ? "unchanged" : "transposed";
    }
    return permutation.letters();
  }
}
