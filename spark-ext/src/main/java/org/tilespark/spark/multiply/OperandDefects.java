package org.tilespark.spark.multiply;

import org.tilespark.layout.Shape;
import org.tilespark.spark.block.StaleMetadata;

/** The failures of operands whose blocks do not tile them. Stateless. */
final class OperandDefects {
  /**
   * Advice for messages, if blocks were assumed to be in the partitions to which their places
   * belong.
   */
  static final String STALE_PLACES =
      ". The column metadata tilespark.blockShape says where blocks begin, by which they are"
          + " partitioned and need not be shuffled";

  private OperandDefects() {}

  /**
   * The failure that no block holds an element.
   *
   * @param right true if the operand is B
   * @param group name of the group in words, or ""
   * @param advice further advice, or ""
   * @param row row of the element, as stored
   */
  static IllegalArgumentException hole(
      MultiplySpec spec, boolean right, String group, String advice, long row, long col) {
    Shape extents = spec.extents(right);
    int rowParts = rowParts(spec, right);
    return new IllegalArgumentException(
        ("%sno block holds the element at %s; expected blocks that cover"
                + " all of %s x %s elements. With missing=zero what is missing counts as"
                + " zeros%s; %s")
            .formatted(
                matrix(spec, right, group),
                place(spec, right, row, col),
                extents.extent(0) / rowParts,
                extents.extent(1) * rowParts / spec.side(right).parts(),
                advice,
                StaleMetadata.HELP));
  }

  /** As {@link #hole}, for an element given by its places along M or N, and along K. */
  static IllegalArgumentException holeAt(
      MultiplySpec spec, boolean right, String group, long outer, long inner) {
    boolean innerIsRow = spec.innerIsRow(right);
    return hole(spec, right, group, "", innerIsRow ? inner : outer, innerIsRow ? outer : inner);
  }

  /** The failure that two blocks hold an element, given by its places along M or N, and along K. */
  static IllegalArgumentException twiceAt(
      MultiplySpec spec, boolean right, String group, long outer, long inner) {
    boolean innerIsRow = spec.innerIsRow(right);
    return new IllegalArgumentException(
        "%stwo blocks hold the element at %s; expected every element once%s"
            .formatted(
                matrix(spec, right, group),
                place(spec, right, innerIsRow ? inner : outer, innerIsRow ? outer : inner),
                overlapAdvice(spec)));
  }

  /** Advice in the message that two blocks hold one element. */
  static String overlapAdvice(MultiplySpec spec) {
    return spec.groups() == 0
        ? ". If the blocks are those of several matrices, keep the column that tells them apart"
        : "";
  }

  /** A block in words, by its place as stored, as the beginning of a message. */
  static String blockAt(MultiplySpec spec, boolean right, long row, long col) {
    return matrix(spec, right, "") + "block at " + place(spec, right, row, col);
  }

  /** The row and column in the user's matrix of an element given by its place as stored. */
  static String place(MultiplySpec spec, boolean right, long row, long col) {
    int rowParts = rowParts(spec, right);
    return "row " + row / rowParts + ", col " + col * rowParts / spec.side(right).parts();
  }

  /** Count of stored rows for each row of the user's matrix. */
  private static int rowParts(MultiplySpec spec, boolean right) {
    return spec.innerIsRow(right) ? 1 : spec.side(right).parts();
  }

  private static String matrix(MultiplySpec spec, boolean right, String group) {
    return spec.operator() + ": matrix " + (right ? "B" : "A") + group + ": ";
  }
}
