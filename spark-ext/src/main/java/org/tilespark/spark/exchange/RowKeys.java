package org.tilespark.spark.exchange;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.InterpretedOrdering;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.StructType;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.RowProjections;
import scala.collection.immutable.Seq;
import scala.math.Ordering;

/** Reads the key columns of rows. Used by one thread. */
public final class RowKeys {
  private final UnsafeProjection keyOf;
  private final Ordering<InternalRow> order;

  /** A reader of the key columns, which are at {@code ordinals} in rows of {@code schema}. */
  public static RowKeys at(StructType schema, List<Integer> ordinals) {
    return new RowKeys(
        ordinals.stream()
            .map(ordinal -> Attributes.bound(ordinal, schema.fields()[ordinal]))
            .toList());
  }

  private RowKeys(List<BoundReference> columns) {
    List<Expression> ofKey = new ArrayList<>();
    columns.forEach(column -> ofKey.add(new BoundReference(ofKey.size(), column.dataType(), true)));
    this.keyOf = RowProjections.of(columns);
    Seq<SortOrder> ascending = Attributes.ascending(ofKey);
    this.order = RowOrder.of(ascending, () -> new InterpretedOrdering(ascending));
  }

  /** The key of a row; valid until the next is requested. */
  public UnsafeRow of(InternalRow row) {
    return keyOf.apply(row);
  }

  /**
   * Compares two keys column by column. Values with different bytes may be equal: 0.0 equals -0.0,
   * as in GROUP BY.
   */
  public int compare(UnsafeRow one, UnsafeRow other) {
    return order.compare(one, other);
  }
}
