package org.tilespark.spark.validate;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockKind;

/**
 * SQL expressions over one row's facts, each a struct of code, block, found and expected, or NULL
 * if there is no defect. The facts are the columns g0... (columns that distinguish arrays), o0...
 * and s0... (places and sizes, per axis), length0... and null0... (per array).
 */
final class DefectSql {
  private final BlockKind kind;
  private final int rank;
  private final Optional<Shape> extents; // extents of the whole array, if stated
  private final List<String> further;

  /**
   * Expressions for one DataFrame.
   *
   * @param extents extents that the column metadata states
   * @param further names of the columns that distinguish arrays
   */
  DefectSql(BlockKind kind, Optional<Shape> extents, List<String> further) {
    this.kind = kind;
    this.rank = kind.rank();
    this.extents = extents;
    this.further = further;
  }

  /** SQL for the defects of a block's place and size along an axis. */
  List<String> placeChecks(int axis) {
    String offset = kind.offsetColumns().get(axis);
    String size = kind.sizeColumns().get(axis);
    String o = "o" + axis;
    String s = "s" + axis;
    List<String> checks = new ArrayList<>();
    checks.add(check("nullCoordinate", o + " IS NULL", text(offset + " is null"), "a place"));
    checks.add(check("nullCoordinate", s + " IS NULL", text(size + " is null"), "a size"));
    checks.add(
        check("nonPositiveSize", s + " < 1", "concat('" + size + " ', " + s + ")", "1 or more"));
    checks.add(
        check("negativeOffset", o + " < 0", "concat('" + offset + " ', " + o + ")", "0 or more"));
    String limit =
        extents
            .map(all -> "IS NULL OR " + end(axis) + " > " + all.extent(axis) + "L")
            .orElse("IS NULL");
    checks.add(
        check(
            "outsideExtents",
            o + " >= 0 AND " + s + " >= 1 AND (" + end(axis) + " " + limit + ")",
            "concat('" + offset + " ', " + o + ", ' with " + size + " ', " + s + ")",
            extents
                .map(
                    all ->
                        "an end of at most %s (column metadata %s)"
                            .formatted(all.extent(axis), ArrayMetadata.EXTENTS))
                .orElse("an end below 2^63")));
    return checks;
  }

  /** SQL for the end of a block along an axis; null beyond 2^63 - 1. */
  static String end(int axis) {
    return "try_add(o" + axis + ", cast(s" + axis + " AS BIGINT))";
  }

  /**
   * SQL for the defects of an array of a block.
   *
   * @param part 0 for {@code values}, 1 for {@code imag}
   * @param column the array's column name
   */
  List<String> arrayChecks(int part, String column) {
    String length = "length" + part;
    String product = "1L";
    List<String> sizes = new ArrayList<>();
    List<String> positive = new ArrayList<>();
    for (int axis = 0; axis < rank; axis++) {
      product = "try_multiply(" + product + ", cast(s" + axis + " AS BIGINT))";
      sizes.add("'" + kind.sizeColumns().get(axis) + " ', s" + axis);
      positive.add("s" + axis + " >= 1");
    }
    List<String> checks = new ArrayList<>();
    checks.add(check("nullValues", length + " IS NULL", text(column + " is null"), "an array"));
    checks.add(
        check(
            "nullElement",
            "null" + part + " >= 0",
            "concat('" + column + " has a null at element ', null" + part + ")",
            "numbers only"));
    checks.add(
        defect(
            "wrongLength",
            "%s IS NOT NULL AND %s AND NOT (%s <=> %s)"
                .formatted(length, String.join(" AND ", positive), length, product),
            "concat('" + column + " has ', " + length + ", ' elements')",
            "concat(%s, ' = ', coalesce(string(%s), 'more than 2^63'))"
                .formatted(String.join(", ' * ', ", sizes), product)));
    return checks;
  }

  private static String text(String literal) {
    return "'" + literal + "'";
  }

  private String check(String code, String condition, String found, String expected) {
    return defect(code, condition, found, text(expected));
  }

  private String defect(String code, String condition, String found, String expected) {
    return ("if(%s, named_struct('code', '%s', 'block', %s, 'found', %s, 'expected', %s),"
            + " NULL)")
        .formatted(condition, code, blockText(), found, expected);
  }

  private String blockText() {
    List<String> parts = new ArrayList<>();
    for (int axis = 0; axis < rank; axis++) {
      parts.add(
          "'%s%s ', coalesce(string(o%s), 'null')"
              .formatted(axis == 0 ? "block at " : ", ", kind.offsetColumns().get(axis), axis));
    }
    return "concat(" + String.join(", ", parts) + ", " + groupText() + ")";
  }

  /** SQL for the name of an array among several: {@code " (sample 3)"}. */
  String groupText() {
    if (further.isEmpty()) {
      return "''";
    }
    List<String> parts = new ArrayList<>();
    for (int i = 0; i < further.size(); i++) {
      String name = further.get(i).replace("\\", "\\\\").replace("'", "\\'");
      parts.add("'" + (i == 0 ? " (" : ", ") + name + " ', coalesce(string(g" + i + "), 'null')");
    }
    return "concat(" + String.join(", ", parts) + ", ')')";
  }
}
