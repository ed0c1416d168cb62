package org.tilespark.spark.pointwise;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.UnaryOperator;
import org.tilespark.kernels.pointwise.Instruction.Constant;
import org.tilespark.layout.ElementType;

/**
 * The value of a part of an expression.
 *
 * @param parts the value, or its real and imaginary parts, of one type
 * @param isBool true if the value is a truth value
 * @param isLiteral true if the value was computed from literals only, and so adapts to the other
 *     operand's type
 */
record Term(List<Value> parts, boolean isBool, boolean isLiteral) {
  Term {
    parts = List.copyOf(parts);
  }

  /**
   * A number. Integers that depend on elements are BIGINT even if combined from literals, since a
   * narrower type might not hold them.
   *
   * @param ofLiterals true if the number was computed from literals only
   */
  static Term of(List<Value> parts, boolean ofLiterals) {
    boolean floating = ValueType.isFloating(parts.get(0).type());
    return new Term(
        parts, false, ofLiterals && (floating || parts.stream().allMatch(Value::isLiteral)));
  }

  /** A real number. */
  static Term of(Value value) {
    return new Term(List.of(value), false, false);
  }

  /** A complex number. */
  static Term complex(Value real, Value imag) {
    return new Term(List.of(real, imag), false, false);
  }

  /** A number that adapts to the other operand's type, as a Python float. */
  static Term literal(double value) {
    return new Term(List.of(Value.floating(ElementType.FLOAT64, value)), false, true);
  }

  /** An integer that adapts to the other operand's type, as a Python int. */
  static Term literal(long value) {
    return new Term(List.of(Value.integer(ElementType.INT64, value)), false, true);
  }

  /** A truth value. */
  static Term bool(Value value) {
    return new Term(List.of(value), true, false);
  }

  /** This term as a truth value if {@code holds}, otherwise as a number. */
  Term asBool(boolean holds) {
    return new Term(parts, holds, isLiteral && !holds);
  }

  /** The value of an integer literal; empty if this term is none. */
  Optional<Long> literalInteger() {
    return isLiteral && real().type() == ElementType.INT64
        ? real().constant().map(Constant::bits)
        : Optional.empty();
  }

  /** The type; for literals, that of a numpy array of them. */
  ValueType type() {
    return new ValueType(real().type(), isComplex(), isBool);
  }

  boolean isComplex() {
    return parts.size() == 2;
  }

  /** The value, or its real part. */
  Value real() {
    return parts.get(0);
  }

  /** The imaginary part; 0 of a real number. */
  Value imag() {
    return isComplex() ? parts.get(1) : Value.number(real().type(), 0);
  }

  /** This number with {@code function} applied to each part. */
  Term map(UnaryOperator<Value> function) {
    return of(parts.stream().map(function).toList(), isLiteral);
  }

  /** This number in a type that holds it; a real one becomes complex if the type is. */
  Term in(ValueType type) {
    List<Value> all = new ArrayList<>();
    all.add(real().in(type.element()));
    if (type.isComplex()) {
      all.add(imag().in(type.element()));
    }
    return new Term(all, type.isBool(), isLiteral);
  }

  /** True if this is an integer literal that may be out of the type's range. */
  boolean exceeds(ElementType type) {
    return isLiteral
        && !ValueType.isFloating(real().type())
        && !ValueType.isFloating(type)
        && !real().fits(type);
  }
}
