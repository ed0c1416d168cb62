package org.tilespark.spark.plans;

import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.RowOrdering$;

/** Which types further columns may have where they tell several arrays apart. */
public final class KeyTypes {
  private KeyTypes() {}

  /**
   * Checks that Spark can sort and group by each column.
   *
   * @param further columns that are none of a block's own
   * @param operator who asks, for the message
   * @throws IllegalArgumentException that names the first column that has no order: a MAP, a
   *     VARIANT, an INTERVAL of all units, or what holds one of these
   */
  public static void requireOrdered(List<Attribute> further, String operator) {
    for (Attribute column : further) {
      if (!RowOrdering$.MODULE$.isOrderable(column.dataType())) {
        throw new IllegalArgumentException(
            operator
                + ": further column "
                + column.name()
                + " is "
                + column.dataType().sql()
                + ", which has no order; further columns tell several arrays apart here, so drop"
                + " it, or make a STRING of it");
      }
    }
  }
}
