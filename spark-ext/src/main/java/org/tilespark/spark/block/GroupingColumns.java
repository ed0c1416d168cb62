package org.tilespark.spark.block;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.RowOrdering$;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructField;
import org.tilespark.spark.catalyst.Attributes;

/**
 * The further columns (all but those of the block itself) of an operator that combines blocks. They
 * distinguish several arrays and are looked up by name, so their names must differ. Names are
 * compared as {@code spark.sql.caseSensitive} says.
 */
public final class GroupingColumns {
  private GroupingColumns() {}

  /**
   * The further columns of blocks.
   *
   * @param columns list with one column for each column of the rows
   * @param operator operator's name, for messages
   * @throws IllegalArgumentException that names them, if two have the same name or one has a type
   *     without an order
   */
  public static List<Attribute> of(BlockSchema blocks, List<Attribute> columns, String operator) {
    List<Attribute> further = blocks.further(columns);
    List<StructField> doubled = doubled(List.of(Attributes.schema(further).fields()));
    if (!doubled.isEmpty()) {
      throw new IllegalArgumentException(
          ("%s: the further columns (%s) have the same name; further columns tell"
                  + " several arrays apart by their names, so drop or rename all but one (names"
                  + " that differ in case only are the same unless %s is true)")
              .formatted(operator, text(doubled), SQLConf.CASE_SENSITIVE().key()));
    }
    requireOrdered(further, operator);
    return further;
  }

  /**
   * Checks that Spark can sort and group by each column.
   *
   * @param further further columns
   * @param operator operator's name, for the message
   * @throws IllegalArgumentException that names the first column that has no order: a MAP, a
   *     VARIANT, an INTERVAL of all units, or a type that contains one of these
   */
  public static void requireOrdered(List<Attribute> further, String operator) {
    for (Attribute column : further) {
      if (!RowOrdering$.MODULE$.isOrderable(column.dataType())) {
        throw new IllegalArgumentException(
            ("%s: further column %s is %s, which has no order; further columns tell"
                    + " several arrays apart here, so drop it, or make a STRING of it")
                .formatted(operator, column.name(), column.dataType().sql()));
      }
    }
  }

  /**
   * The further columns that share a name; if several names are shared, those with the first of
   * them. Empty if all names differ.
   */
  public static List<StructField> doubled(List<StructField> further) {
    for (StructField first : further) {
      List<StructField> same =
          further.stream().filter(other -> isSame(first.name(), other.name())).toList();
      if (same.size() > 1) {
        return same;
      }
    }
    return List.of();
  }

  /**
   * Checks that the names of a result's columns differ.
   *
   * @param operator operator's name, for the message
   * @throws IllegalArgumentException that lists columns with equal names, if there are any
   */
  public static void requireNames(List<Attribute> produced, String operator) {
    List<StructField> doubled = doubled(List.of(Attributes.schema(produced).fields()));
    if (!doubled.isEmpty()) {
      throw new IllegalArgumentException(
          "%s: the result would have two columns (%s); rename the input's, or choose another name"
              .formatted(operator, text(doubled)));
    }
  }

  /** The column of {@code columns} that has the name of {@code other}. */
  public static Optional<Attribute> named(List<Attribute> columns, Attribute other) {
    return columns.stream().filter(column -> isSame(column.name(), other.name())).findFirst();
  }

  /** Names and types of columns, for messages. */
  public static String text(List<StructField> columns) {
    List<String> texts = new ArrayList<>();
    columns.forEach(column -> texts.add(column.name() + " " + column.dataType().sql()));
    return String.join(", ", texts);
  }

  private static boolean isSame(String name, String other) {
    return SQLConf.get().caseSensitiveAnalysis()
        ? name.equals(other)
        : name.equalsIgnoreCase(other);
  }
}
