package org.tilespark.spark.block;

import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.tilespark.layout.Axes;
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

  /**
   * The column of a packed block, which has its elements as bytes in numpy's layout in place of
   * values.
   */
  public static final String DATA = "data";

  private final List<String> offsets;
  private final List<String> sizes;

  BlockKind(List<String> offsets, List<String> sizes) {
    this.offsets = offsets;
    this.sizes = sizes;
  }

  /** Count of axes of the array: 2 or 3. */
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
   * The axis of a name or number.
   *
   * @param what name of the parameter, for messages: {@code "volume_slabs: axis"}
   * @param text the name of the axis' offset column, in any case, or its number: {@code "y"},
   *     {@code "1"}; {@code "-1"} is the last axis
   * @throws IllegalArgumentException if there is no axis of this name
   */
  public int axis(String what, String text) {
    return axes(text)
        .filter(axes -> axes.size() == 1)
        .orElseThrow(
            () ->
                new InvalidInputException(
                    ErrorCondition.INVALID_ARGUMENT,
                    "%s is '%s'; expected one of %s, or a number from %s to %s"
                        .formatted(what, text, String.join(", ", offsets), -rank(), rank() - 1)))
        .get(0);
  }

  /**
   * The order of all axes that a text names.
   *
   * @param what name of the parameter, for messages: {@code "volume_permute: axes"}
   * @param text names or numbers of the axes, as for {@link #axes}
   * @throws IllegalArgumentException if the text does not name each axis once
   */
  public Permutation permutation(String what, String text) {
    return axes(text)
        .filter(axes -> axes.size() == rank())
        .map(axes -> Permutation.of(axes.stream().mapToInt(Integer::intValue).toArray()))
        .orElseThrow(
            () ->
                new InvalidInputException(
                    ErrorCondition.INVALID_ARGUMENT,
                    "%s is '%s'; expected each of %s once, by letter or number, as 'yzx' or '1,2,0'"
                        .formatted(what, text, String.join(", ", offsets))));
  }

  /**
   * The axes that a text names, in its order: {@code "yz"}, {@code "y,z"}, {@code "1,2"}. Numbers
   * below 0 count from the last axis, as in numpy: {@code "-2,-1"}.
   *
   * @param text letters in any case and numbers, with commas between numbers
   * @return empty if the text names an unknown axis, an axis twice, or no axis
   */
  public Optional<List<Integer>> axes(String text) {
    return Axes.named(text, offsets);
  }

  /**
   * The axes that a text names, as {@link #axes(String)}.
   *
   * @param what name of the parameter, for messages: {@code "volume_flip: axes"}
   * @throws IllegalArgumentException if the text names an unknown axis, an axis twice, or no axis
   */
  public List<Integer> someAxes(String what, String text) {
    return axes(text)
        .orElseThrow(
            () ->
                new InvalidInputException(
                    ErrorCondition.INVALID_ARGUMENT,
                    "%s is '%s'; expected some of %s, each once, by letter or number"
                        .formatted(what, text, String.join(", ", offsets))));
  }

  /** The kind's name for messages: {@code "matrix"} or {@code "volume"}. */
  public String label() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** The columns of blocks of this kind, as messages list them. */
  public String columnsText() {
    return boxText() + "values ARRAY<T> [, imag ARRAY<T>]";
  }

  /**
   * The columns of blocks whose elements are in the column {@link #DATA}, as messages list them.
   */
  public String packedColumnsText() {
    return boxText() + "data BINARY";
  }

  private String boxText() {
    return "%s BIGINT, %s INT, "
        .formatted(String.join(" BIGINT, ", offsets), String.join(" INT, ", sizes));
  }

  /**
   * The name of a block in all messages about bad data: {@code block at row 4096, col 0}.
   *
   * @param offset place of the block's first element, {@link #rank()} numbers
   */
  public String describe(long[] offset) {
    return ArrayAxes.of(this).describe(offset);
  }
}
