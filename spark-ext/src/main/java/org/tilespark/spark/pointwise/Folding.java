package org.tilespark.spark.pointwise;

import java.util.Optional;
import java.util.function.DoubleBinaryOperator;
import java.util.function.IntPredicate;
import java.util.function.LongBinaryOperator;
import org.tilespark.kernels.pointwise.BinaryFunction;
import org.tilespark.kernels.pointwise.Instruction.Constant;
import org.tilespark.kernels.pointwise.UnaryFunction;
import org.tilespark.layout.ElementType;

/**
 * Arithmetic on constants with the same bits as host and device compute: only operations whose
 * result IEEE or integer arithmetic determines. Operations that give NaN are left to the kernels,
 * since its sign is not defined.
 */
final class Folding {
  private Folding() {}

  /** A function of a constant; empty if the kernels must compute it. */
  static Optional<Constant> of(UnaryFunction function, Constant x) {
    return switch (function) {
      case NEGATE ->
          ValueType.isFloating(x.type())
              ? floating(x.type(), -doubleOf(x))
              : integer(x.type(), -x.bits());
      case ABS ->
          ValueType.isFloating(x.type())
              ? floating(x.type(), Math.abs(doubleOf(x)))
              : integer(x.type(), Math.abs(x.bits()));
      case SQRT -> floating(x.type(), Math.sqrt(doubleOf(x)));
      default -> Optional.empty();
    };
  }

  /** A function of two constants of one type; empty if the kernels must compute it. */
  static Optional<Constant> of(BinaryFunction function, Constant x, Constant y) {
    return switch (function) {
      case ADD -> arithmetic(x, y, (a, b) -> a + b, (a, b) -> a + b);
      case SUBTRACT -> arithmetic(x, y, (a, b) -> a - b, (a, b) -> a - b);
      case MULTIPLY -> arithmetic(x, y, (a, b) -> a * b, (a, b) -> a * b);
      case DIVIDE -> floating(x.type(), doubleOf(x) / doubleOf(y));
      case LESS -> truth(x, y, (a, b) -> a < b, order -> order < 0);
      case LESS_EQUAL -> truth(x, y, (a, b) -> a <= b, order -> order <= 0);
      case EQUAL -> truth(x, y, (a, b) -> a == b, order -> order == 0);
      default -> Optional.empty();
    };
  }

  /** A constant in another type; empty if the kernels must compute it. */
  static Optional<Constant> cast(ElementType type, Constant x) {
    if (!ValueType.isFloating(x.type())) {
      return ValueType.isFloating(type)
          ? Optional.of(
              type == ElementType.FLOAT32
                  ? Constant.of((float) x.bits())
                  : Constant.of((double) x.bits()))
          : integer(type, x.bits());
    }
    double value = doubleOf(x);
    if (ValueType.isFloating(type)) {
      return Optional.of(inFloating(type, value));
    }
    long whole = (long) value;
    return Math.abs(value) < 1L << 53 && fits(type, whole)
        ? integer(type, whole)
        : Optional.empty();
  }

  /** True if a type of integers holds a value. */
  static boolean fits(ElementType integers, long value) {
    return wrapped(integers, value) == value;
  }

  /**
   * Sums, products and quotients of two FLOAT32, computed in double and rounded, equal those in
   * FLOAT32: a double has more than twice as many bits. The same holds for square roots (Figueroa,
   * "When is double rounding innocuous?", 1995).
   */
  private static Optional<Constant> arithmetic(
      Constant x, Constant y, DoubleBinaryOperator floating, LongBinaryOperator integer) {
    return ValueType.isFloating(x.type())
        ? floating(x.type(), floating.applyAsDouble(doubleOf(x), doubleOf(y)))
        : integer(x.type(), integer.applyAsLong(x.bits(), y.bits()));
  }

  private static Optional<Constant> truth(
      Constant x, Constant y, DoubleComparison floating, IntPredicate integer) {
    boolean holds =
        ValueType.isFloating(x.type())
            ? floating.test(doubleOf(x), doubleOf(y))
            : integer.test(Long.compare(x.bits(), y.bits()));
    return Optional.of(new Constant(ElementType.INT8, holds ? 1 : 0));
  }

  private interface DoubleComparison {
    boolean test(double a, double b);
  }

  private static Optional<Constant> floating(ElementType type, double value) {
    return Double.isNaN(value) ? Optional.empty() : Optional.of(inFloating(type, value));
  }

  private static Constant inFloating(ElementType type, double value) {
    return type == ElementType.FLOAT32 ? Constant.of((float) value) : Constant.of(value);
  }

  private static Optional<Constant> integer(ElementType type, long value) {
    return Optional.of(new Constant(type, wrapped(type, value)));
  }

  private static long wrapped(ElementType integers, long value) {
    int unused = Long.SIZE - Byte.SIZE * integers.bytes();
    return value << unused >> unused;
  }

  /** The number of a floating-point constant. */
  static double doubleOf(Constant x) {
    return x.type() == ElementType.FLOAT32
        ? Float.intBitsToFloat((int) x.bits())
        : Double.longBitsToDouble(x.bits());
  }
}
