package org.tilespark.spark.slice;

import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.tilespark.layout.AxisRange;
import org.tilespark.spark.catalyst.BlockExpression;
import org.tilespark.spark.catalyst.ScalaInterop;
import scala.collection.immutable.Seq;

/**
 * True if a block holds an element of a range along an axis. Also true for a block whose offset or
 * size is null or invalid, so that the block's reader reports the defect.
 *
 * <p>It is used in a filter below a slice, so that blocks which the slice drops are not even read.
 * The filter may be left out, since the slice drops them too; but not on only one side of an
 * operator that combines blocks of several arrays.
 */
public final class MeetsRange extends BlockExpression {
  private final AxisRange range;
  private final boolean isOfSeveral;

  /**
   * A constructor for Catalyst, which uses it to copy expressions; other code calls {@link #of}.
   */
  public MeetsRange(AxisRange range, boolean isOfSeveral, Seq<Expression> children) {
    super(children);
    this.range = range;
    this.isOfSeveral = isOfSeveral;
  }

  /**
   * The condition that a block holds an element of {@code range}.
   *
   * @param offset the block's offset along the axis, BIGINT
   * @param size the block's size along the axis, INT
   */
  static MeetsRange of(AxisRange range, Expression offset, Expression size) {
    return new MeetsRange(range, false, ScalaInterop.<Expression>seq(offset, size));
  }

  /** This condition with another range, on other columns. */
  MeetsRange with(AxisRange others, Expression offset, Expression size) {
    return new MeetsRange(others, isOfSeveral, ScalaInterop.<Expression>seq(offset, size));
  }

  /**
   * This condition for one of several arrays that an operator combines, where it must not be left
   * out.
   */
  MeetsRange ofSeveral() {
    return new MeetsRange(
        range, true, ScalaInterop.<Expression>seq(childList().get(0), childList().get(1)));
  }

  /** True if the condition must not be left out. */
  boolean isOfSeveral() {
    return isOfSeveral;
  }

  /** The elements of the range. */
  AxisRange range() {
    return range;
  }

  /** The column of the offset; empty if it is computed. */
  Optional<Attribute> offset() {
    return column(0);
  }

  /** The column of the size; empty if it is computed. */
  Optional<Attribute> size() {
    return column(1);
  }

  private Optional<Attribute> column(int child) {
    return childList().get(child) instanceof Attribute column
        ? Optional.of(column)
        : Optional.empty();
  }

  @Override
  public Object eval(InternalRow input) {
    Object from = childList().get(0).eval(input);
    Object count = childList().get(1).eval(input);
    if (from == null || count == null) {
      return true;
    }
    long low = (Long) from;
    int elements = (Integer) count;
    boolean isBad = low < 0 || elements < 1 || low > Long.MAX_VALUE - elements;
    return isBad || range.within(low, low + elements).isPresent();
  }

  @Override
  public boolean throwable() {
    return false;
  }

  @Override
  public DataType dataType() {
    return DataTypes.BooleanType;
  }

  @Override
  protected List<Object> fields() {
    return List.of(range, isOfSeveral);
  }

  /** The text in EXPLAIN: {@code "row#1, rows#3 meet 0:100"}. */
  @Override
  public String toString() {
    return childList().get(0) + ", " + childList().get(1) + " meet " + range;
  }
}
