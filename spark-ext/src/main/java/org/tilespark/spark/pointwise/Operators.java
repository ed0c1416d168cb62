package org.tilespark.spark.pointwise;

import static org.tilespark.spark.pointwise.ElementFunction.of;

import java.util.List;
import java.util.Map;
import java.util.function.BinaryOperator;
import org.apache.spark.sql.catalyst.expressions.Add;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Divide;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GreaterThan;
import org.apache.spark.sql.catalyst.expressions.GreaterThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.In;
import org.apache.spark.sql.catalyst.expressions.IntegralDivide;
import org.apache.spark.sql.catalyst.expressions.LessThan;
import org.apache.spark.sql.catalyst.expressions.LessThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.Multiply;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.expressions.Remainder;
import org.apache.spark.sql.catalyst.expressions.Subtract;
import org.apache.spark.sql.catalyst.expressions.UnaryMinus;
import org.apache.spark.sql.catalyst.expressions.UnaryPositive;
import org.tilespark.kernels.pointwise.BinaryFunction;
import org.tilespark.kernels.pointwise.UnaryFunction;
import org.tilespark.layout.ElementType;

/** Translations of the operators of an elementwise expression, by Spark's classes for them. */
final class Operators {
  private static final Map<Class<? extends Expression>, ElementFunction> ALL =
      Map.ofEntries(
          Map.entry(Add.class, of("+", 2, Operators::add)),
          Map.entry(Subtract.class, of("-", 2, Operators::subtract)),
          Map.entry(Multiply.class, of("*", 2, Operators::multiply)),
          Map.entry(Divide.class, of("/", 2, Operators::divide)),
          Map.entry(IntegralDivide.class, integer("div", BinaryFunction.FLOOR_DIVIDE)),
          Map.entry(Remainder.class, integer("%", BinaryFunction.REMAINDER)),
          Map.entry(UnaryMinus.class, of("-", 1, Operators::negate)),
          Map.entry(UnaryPositive.class, of("+", 1, call -> call.argument(0))),
          Map.entry(And.class, of("AND", 2, call -> bool(call, BinaryFunction.AND))),
          Map.entry(Or.class, of("OR", 2, call -> bool(call, BinaryFunction.OR))),
          Map.entry(In.class, new ElementFunction("IN", 2, Integer.MAX_VALUE, Operators::in)),
          Map.entry(EqualTo.class, of("=", 2, call -> equal(call, BinaryFunction.EQUAL))),
          Map.entry(LessThan.class, of("<", 2, call -> less(call, BinaryFunction.LESS))),
          Map.entry(
              LessThanOrEqual.class, of("<=", 2, call -> less(call, BinaryFunction.LESS_EQUAL))),
          Map.entry(
              GreaterThan.class, of(">", 2, call -> less(swapped(call), BinaryFunction.LESS))),
          Map.entry(
              GreaterThanOrEqual.class,
              of(">=", 2, call -> less(swapped(call), BinaryFunction.LESS_EQUAL))));

  /** {@code <>}, which Spark reads as NOT of =. */
  static final ElementFunction NOT_EQUAL =
      of("<>", 2, call -> equal(call, BinaryFunction.NOT_EQUAL));

  /** NOT of any truth value but the result of =, whose NOT is {@link #NOT_EQUAL}. */
  static final ElementFunction NOT =
      of("NOT", 1, call -> call.bools().apply(UnaryFunction.NOT).asBool(true));

  private Operators() {}

  /** The operators, by the classes of Spark whose children are the operands. */
  static Map<Class<? extends Expression>, ElementFunction> all() {
    return ALL;
  }

  /** {@code +}: the sum of truth values is their OR, as in numpy. */
  private static Term add(Call call) {
    return call.commonType().isBool()
        ? bool(call, BinaryFunction.OR)
        : parts(call, BinaryFunction.ADD);
  }

  private static Term subtract(Call call) {
    if (call.commonType().isBool()) {
      throw call.wrong("truth values have no difference, as in numpy; use <> or CAST them");
    }
    return parts(call, BinaryFunction.SUBTRACT);
  }

  /** {@code *}: the product of truth values is their AND, as in numpy. */
  private static Term multiply(Call call) {
    ValueType type = call.commonType();
    if (type.isBool()) {
      return bool(call, BinaryFunction.AND);
    }
    return type.isComplex()
        ? ofComplex(call.common(), ComplexArithmetic::multiply)
        : parts(call, BinaryFunction.MULTIPLY);
  }

  /** {@code /}: the quotient of integers is DOUBLE. */
  private static Term divide(Call call) {
    ValueType type = call.commonType();
    if (type.isComplex()) {
      return ofComplex(call.common(), ComplexArithmetic::divide);
    }
    return type.isFloating()
        ? call.common().apply(BinaryFunction.DIVIDE)
        : call.in(ValueType.real(ElementType.FLOAT64)).apply(BinaryFunction.DIVIDE);
  }

  private static Term negate(Call call) {
    if (call.argument(0).isBool()) {
      throw call.wrong("a truth value has no negative, as in numpy; use NOT");
    }
    return call.apply(UnaryFunction.NEGATE);
  }

  /** An operator on real numbers in their common type; truth values become TINYINT. */
  private static ElementFunction integer(String name, BinaryFunction function) {
    return of(name, 2, call -> call.real().numbers().apply(function));
  }

  private static Term bool(Call call, BinaryFunction function) {
    return call.bools().apply(function).asBool(true);
  }

  private static Term parts(Call call, BinaryFunction function) {
    return call.common().applyToParts((x, y) -> Value.of(function, x, y));
  }

  private static Term ofComplex(Call call, BinaryOperator<Term> function) {
    List<Value> parts = function.apply(call.argument(0), call.argument(1)).parts();
    return call.result(parts.get(0), parts.get(1));
  }

  private static Term less(Call call, BinaryFunction function) {
    Call both = call.real();
    return both.in(comparedType(both)).apply(function).asBool(true);
  }

  /** {@code =} or {@code <>}: complex numbers are equal if both parts are. */
  private static Term equal(Call call, BinaryFunction function) {
    Term parts = call.in(comparedType(call)).applyToParts((x, y) -> Value.of(function, x, y));
    BinaryFunction both = function == BinaryFunction.EQUAL ? BinaryFunction.AND : BinaryFunction.OR;
    return Term.bool(parts.parts().stream().reduce((x, y) -> Value.of(both, x, y)).orElseThrow());
  }

  /**
   * The type in which two values are compared: the common one, or BIGINT if a literal exceeds the
   * other's type, as in numpy.
   */
  private static ValueType comparedType(Call call) {
    ValueType type = call.commonType();
    return call.arguments().stream().anyMatch(x -> x.exceeds(type.element()))
        ? ValueType.real(ElementType.INT64)
        : type;
  }

  /** {@code v BETWEEN least AND greatest}, including both bounds. */
  static Term between(Call call) {
    Term value = call.argument(0);
    Term above = less(call.with(List.of(call.argument(1), value)), BinaryFunction.LESS_EQUAL);
    Term below = less(call.with(List.of(value, call.argument(2))), BinaryFunction.LESS_EQUAL);
    return bool(call.with(List.of(above, below)), BinaryFunction.AND);
  }

  /** {@code v IN (a, b)}: true if {@code v} equals one of them. */
  private static Term in(Call call) {
    Term value = call.argument(0);
    return call.arguments().stream()
        .skip(1)
        .map(other -> equal(call.with(List.of(value, other)), BinaryFunction.EQUAL))
        .reduce((x, y) -> bool(call.with(List.of(x, y)), BinaryFunction.OR))
        .orElseThrow();
  }

  private static Call swapped(Call call) {
    return call.with(List.of(call.argument(1), call.argument(0)));
  }
}
