package org.tilespark.spark.pointwise;

import static org.tilespark.kernels.pointwise.BinaryFunction.ADD;
import static org.tilespark.kernels.pointwise.BinaryFunction.DIVIDE;
import static org.tilespark.kernels.pointwise.BinaryFunction.EQUAL;
import static org.tilespark.kernels.pointwise.BinaryFunction.LESS;
import static org.tilespark.kernels.pointwise.BinaryFunction.LESS_EQUAL;
import static org.tilespark.kernels.pointwise.BinaryFunction.MAXIMUM;
import static org.tilespark.kernels.pointwise.BinaryFunction.MULTIPLY;
import static org.tilespark.kernels.pointwise.BinaryFunction.OR;
import static org.tilespark.kernels.pointwise.BinaryFunction.SUBTRACT;

import org.tilespark.kernels.pointwise.BinaryFunction;
import org.tilespark.kernels.pointwise.UnaryFunction;
import org.tilespark.layout.ElementType;

/**
 * Arithmetic of complex numbers on their parts, in numpy's order, so that results have numpy's
 * bits.
 */
final class ComplexArithmetic {
  private ComplexArithmetic() {}

  /** {@code (a + bi) (c + di) = (ac - bd) + (ad + bc) i}. */
  static Term multiply(Term x, Term y) {
    Value a = x.real();
    Value b = x.imag();
    Value c = y.real();
    Value d = y.imag();
    return Term.complex(
        of(SUBTRACT, of(MULTIPLY, a, c), of(MULTIPLY, b, d)),
        of(ADD, of(MULTIPLY, a, d), of(MULTIPLY, b, c)));
  }

  /**
   * {@code (a + bi) / (c + di)} by the ratio of the divisor's smaller part to its larger one
   * (Smith, "Algorithm 116: Complex division", 1962), which overflows only if the quotient nearly
   * does. A divisor of 0 divides both parts by 0, as numpy does.
   */
  static Term divide(Term x, Term y) {
    Value c = y.real();
    Value d = y.imag();
    Value absC = Value.of(UnaryFunction.ABS, c);
    Value absD = Value.of(UnaryFunction.ABS, d);
    Value realLarger = of(LESS_EQUAL, absD, absC);
    Value ratio = of(DIVIDE, Value.select(realLarger, d, c), Value.select(realLarger, c, d));
    Value scale =
        of(
            DIVIDE,
            Value.number(c.type(), 1),
            of(
                ADD,
                Value.select(realLarger, c, d),
                of(MULTIPLY, Value.select(realLarger, d, c), ratio)));
    // With p, q = a, b or b, a: the parts are (p + q ratio) scale and +-(q - p ratio) scale.
    Value p = Value.select(realLarger, x.real(), x.imag());
    Value q = Value.select(realLarger, x.imag(), x.real());
    Value scaledP = of(MULTIPLY, p, ratio);
    Value real = of(MULTIPLY, of(ADD, p, of(MULTIPLY, q, ratio)), scale);
    // Computes both differences, since a difference and its negative give zeros of different signs.
    Value difference = Value.select(realLarger, of(SUBTRACT, q, scaledP), of(SUBTRACT, scaledP, q));
    Value imag = of(MULTIPLY, difference, scale);
    Value larger = Value.select(realLarger, absC, absD);
    Value isZero = of(EQUAL, larger, Value.number(c.type(), 0));
    return Term.complex(
        Value.select(isZero, of(DIVIDE, x.real(), absC), real),
        Value.select(isZero, of(DIVIDE, x.imag(), absC), imag));
  }

  /**
   * The absolute value, without overflow on the way; infinite if a part is, even if the other is
   * NaN.
   */
  static Value abs(Term x) {
    ElementType type = x.real().type();
    Value a = Value.of(UnaryFunction.ABS, x.real());
    Value b = Value.of(UnaryFunction.ABS, x.imag());
    Value root =
        type == ElementType.FLOAT32
            ? norm(a.in(ElementType.FLOAT64), b.in(ElementType.FLOAT64)).in(type)
            : scaledNorm(a, b);
    Value infinity = Value.floating(type, Double.POSITIVE_INFINITY);
    Value isInfinite = of(OR, of(EQUAL, a, infinity), of(EQUAL, b, infinity));
    return Value.select(isInfinite, infinity, root);
  }

  /**
   * The norm of FLOAT32 parts, computed in double, which can hold the squares of the smallest and
   * the largest.
   */
  private static Value norm(Value a, Value b) {
    return Value.of(UnaryFunction.SQRT, of(ADD, of(MULTIPLY, a, a), of(MULTIPLY, b, b)));
  }

  /**
   * The norm in double; scaling by a power of two, which is exact, avoids overflow and underflow.
   */
  private static Value scaledNorm(Value a, Value b) {
    Value larger = of(MAXIMUM, a, b);
    Value isLarge = of(LESS, Value.floating(ElementType.FLOAT64, 0x1p500), larger);
    Value isSmall = of(LESS, larger, Value.floating(ElementType.FLOAT64, 0x1p-450));
    Value down = chosen(isLarge, isSmall, 0x1p-600, 0x1p600);
    Value back = chosen(isLarge, isSmall, 0x1p600, 0x1p-600);
    return of(MULTIPLY, norm(of(MULTIPLY, a, down), of(MULTIPLY, b, down)), back);
  }

  private static Value chosen(Value isLarge, Value isSmall, double large, double small) {
    return Value.select(
        isLarge,
        Value.floating(ElementType.FLOAT64, large),
        Value.select(
            isSmall,
            Value.floating(ElementType.FLOAT64, small),
            Value.floating(ElementType.FLOAT64, 1)));
  }

  private static Value of(BinaryFunction function, Value x, Value y) {
    return Value.of(function, x, y);
  }
}
