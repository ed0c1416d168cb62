package org.tilespark.spark.exchange;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BaseOrdering;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.RowOrdering$;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.types.DataTypes;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ScalaInterop;
import scala.collection.immutable.Seq;
import scala.math.Ordering;

/**
 * The order of pieces by places and marks, ascending as in Spark: nulls first, false before true.
 * Spark would generate code for an order, which takes longer than sorting a task's pieces.
 */
final class RowOrder extends BaseOrdering {
  private enum Kind {
    LONG,
    INT,
    IS_NOT_NULL
  }

  private record Column(int ordinal, Kind kind) {
    static Optional<Column> of(Expression expression) {
      boolean isMark = expression instanceof IsNotNull;
      Expression read = expression instanceof IsNotNull mark ? mark.child() : expression;
      if (!(read instanceof BoundReference column)) {
        return Optional.empty();
      }
      if (isMark) {
        return Optional.of(new Column(column.ordinal(), Kind.IS_NOT_NULL));
      }
      boolean isLong = column.dataType().equals(DataTypes.LongType);
      return isLong || column.dataType().equals(DataTypes.IntegerType)
          ? Optional.of(new Column(column.ordinal(), isLong ? Kind.LONG : Kind.INT))
          : Optional.empty();
    }

    int compare(InternalRow one, InternalRow other) {
      boolean isNull = one.isNullAt(ordinal);
      if (isNull || other.isNullAt(ordinal)) {
        return Boolean.compare(!isNull, !other.isNullAt(ordinal));
      }
      return switch (kind) {
        case LONG -> Long.compare(one.getLong(ordinal), other.getLong(ordinal));
        case INT -> Integer.compare(one.getInt(ordinal), other.getInt(ordinal));
        case IS_NOT_NULL -> 0;
      };
    }
  }

  private final List<Column> columns;

  private RowOrder(List<Column> columns) {
    this.columns = columns;
  }

  /**
   * An order of rows; Spark's own if it has grouping columns of types that this class cannot
   * compare.
   *
   * @param order ascending order over bound columns
   */
  static Ordering<InternalRow> of(Seq<SortOrder> order) {
    return of(order, () -> RowOrdering$.MODULE$.create(order, ScalaInterop.emptySeq()));
  }

  /**
   * An order of rows, as {@link #of(Seq)}.
   *
   * @param ofOthers supplies the order if it has grouping columns of other types
   */
  static Ordering<InternalRow> of(
      Seq<SortOrder> order, Supplier<? extends Ordering<InternalRow>> ofOthers) {
    List<SortOrder> all = ScalaInterop.list(order);
    List<Column> columns = new ArrayList<>();
    for (SortOrder each : all) {
      Column.of(each.child()).filter(column -> isPlain(each)).ifPresent(columns::add);
    }
    return columns.size() == all.size() ? new RowOrder(columns) : ofOthers.get();
  }

  /** True for an ascending order with nulls first, as {@link Attributes#ascending} makes it. */
  private static boolean isPlain(SortOrder order) {
    return Attributes.ascending(List.of(order.child())).head().semanticEquals(order);
  }

  @Override
  public int compare(InternalRow one, InternalRow other) {
    int result = 0;
    for (int i = 0; i < columns.size() && result == 0; i++) {
      result = columns.get(i).compare(one, other);
    }
    return result;
  }
}
