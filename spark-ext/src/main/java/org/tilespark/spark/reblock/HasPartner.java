package org.tilespark.spark.reblock;

import java.util.List;
import java.util.StringJoiner;
import org.apache.spark.sql.catalyst.CatalystTypeConverters;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.tilespark.spark.catalyst.BlockExpression;
import org.tilespark.spark.error.ErrorBoundary;
import scala.collection.immutable.Seq;

/**
 * True if an array is in both of two frames; otherwise the query fails with a message that names
 * the array. The children are the least and greatest number, 0 or 1, of the frames that have it,
 * and the further columns that distinguish it.
 */
public final class HasPartner extends BlockExpression {
  private static final long serialVersionUID = 1;
  private static final int SIDES = 2;

  private final List<String> names;
  private final String label;
  private final String operator;

  /**
   * A constructor for Catalyst, which copies expressions by it, and for code that makes plans.
   *
   * @param names names of the further columns
   * @param label the word for an array: matrix or volume
   * @param operator operator's name, for messages
   */
  public HasPartner(List<String> names, String label, String operator, Seq<Expression> children) {
    super(children);
    this.names = List.copyOf(names);
    this.label = label;
    this.operator = operator;
  }

  @Override
  public Object eval(InternalRow input) {
    int least = (Integer) childList().get(0).eval(input);
    int greatest = (Integer) childList().get(1).eval(input);
    if (least != greatest) {
      return true;
    }
    StringJoiner which = new StringJoiner(", ");
    for (int i = 0; i < names.size(); i++) {
      Expression column = childList().get(SIDES + i);
      Object value = CatalystTypeConverters.convertToScala(column.eval(input), column.dataType());
      which.add(names.get(i) + " " + value);
    }
    return ErrorBoundary.BLOCKS.call(
        () -> {
          throw new IllegalArgumentException(
              ("the %1$s of %2$s: what is combined with it is not there; expected each %1$s that"
                      + " further columns tell apart on both sides, found that of the %3$s operand"
                      + " alone (in %4$s)")
                  .formatted(label, which, least == 0 ? "first" : "second", operator));
        });
  }

  @Override
  public DataType dataType() {
    return DataTypes.BooleanType;
  }

  @Override
  protected List<Object> fields() {
    return List.of(names, label, operator);
  }
}
