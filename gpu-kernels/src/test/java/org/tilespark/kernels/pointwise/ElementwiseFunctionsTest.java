package org.tilespark.kernels.pointwise;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.tilespark.layout.ElementType;

/** Values that numpy gives, at the borders. */
class ElementwiseFunctionsTest {
  private static final double INF = Double.POSITIVE_INFINITY;
  private static final double NAN = Double.NaN;
  private static final ElementType[] FLOATS = {ElementType.FLOAT32, ElementType.FLOAT64};
  private static final ElementType[] INTEGERS = {
    ElementType.INT8, ElementType.INT16, ElementType.INT32, ElementType.INT64
  };

  @Test
  void roundingGoesToEvenAndKeepsSigns() {
    for (ElementType type : FLOATS) {
      assertUnary(UnaryFunction.ROUND, type, 0.5, 0);
      assertUnary(UnaryFunction.ROUND, type, 1.5, 2);
      assertUnary(UnaryFunction.ROUND, type, 2.5, 2);
      assertUnary(UnaryFunction.ROUND, type, -0.5, -0.0);
      assertUnary(UnaryFunction.FLOOR, type, -0.5, -1);
      assertUnary(UnaryFunction.FLOOR, type, -0.0, -0.0);
      assertUnary(UnaryFunction.CEIL, type, -0.5, -0.0);
      assertUnary(UnaryFunction.CEIL, type, 1e-40, 1);
      assertUnary(UnaryFunction.FLOOR, type, -INF, -INF);
      assertUnary(UnaryFunction.ROUND, type, NAN, NAN);
    }
  }

  @Test
  void signs() {
    for (ElementType type : FLOATS) {
      assertUnary(UnaryFunction.SIGN, type, -0.0, 0.0);
      assertUnary(UnaryFunction.SIGN, type, -1e-40, -1);
      assertUnary(UnaryFunction.SIGN, type, INF, 1);
      assertUnary(UnaryFunction.SIGN, type, NAN, NAN);
      assertUnary(UnaryFunction.ABS, type, -0.0, 0.0);
      assertUnary(UnaryFunction.NEGATE, type, 0.0, -0.0);
      assertUnary(UnaryFunction.IS_NAN, type, NAN, 1);
      assertUnary(UnaryFunction.IS_NAN, type, INF, 0);
    }
    for (ElementType type : INTEGERS) {
      double least = least(type);
      assertUnary(UnaryFunction.ABS, type, least, least);
      assertUnary(UnaryFunction.NEGATE, type, least, least);
      assertUnary(UnaryFunction.SIGN, type, least, -1);
    }
    assertUnary(UnaryFunction.NOT, ElementType.INT8, 0, 1);
    assertUnary(UnaryFunction.NOT, ElementType.INT8, 1, 0);
  }

  @Test
  void integersWrap() {
    for (ElementType type : INTEGERS) {
      double least = least(type);
      assertBinary(BinaryFunction.SUBTRACT, type, least, 1, -(least + 1));
      assertBinary(BinaryFunction.ADD, type, least, least, 0);
      assertBinary(BinaryFunction.MULTIPLY, type, least, -1, least);
    }
    assertBinary(BinaryFunction.MULTIPLY, ElementType.INT8, 100, 3, 44);
    assertBinary(BinaryFunction.MULTIPLY, ElementType.INT16, 300, 300, 24464);
  }

  @Test
  void divisionOfIntegersGoesDown() {
    for (ElementType type : INTEGERS) {
      double least = least(type);
      assertBinary(BinaryFunction.FLOOR_DIVIDE, type, -7, 2, -4);
      assertBinary(BinaryFunction.REMAINDER, type, -7, 2, 1);
      assertBinary(BinaryFunction.FLOOR_DIVIDE, type, 7, -2, -4);
      assertBinary(BinaryFunction.REMAINDER, type, 7, -2, -1);
      assertBinary(BinaryFunction.FLOOR_DIVIDE, type, 7, 0, 0);
      assertBinary(BinaryFunction.REMAINDER, type, 7, 0, 0);
      assertBinary(BinaryFunction.FLOOR_DIVIDE, type, least, -1, least);
      assertBinary(BinaryFunction.REMAINDER, type, least, -1, 0);
    }
  }

  @Test
  void divisionOfFloatsGoesDown() {
    for (ElementType type : FLOATS) {
      assertBinary(BinaryFunction.FLOOR_DIVIDE, type, -7, 2, -4);
      assertBinary(BinaryFunction.REMAINDER, type, -7, 2, 1);
      assertBinary(BinaryFunction.FLOOR_DIVIDE, type, 7, 0, INF);
      assertBinary(BinaryFunction.FLOOR_DIVIDE, type, -0.0, 3, -0.0);
      assertBinary(BinaryFunction.FLOOR_DIVIDE, type, INF, 3, NAN);
      assertBinary(BinaryFunction.FLOOR_DIVIDE, type, -1, INF, -1);
      assertBinary(BinaryFunction.REMAINDER, type, -1, INF, INF);
      assertBinary(BinaryFunction.REMAINDER, type, 7, 0, NAN);
      assertBinary(BinaryFunction.REMAINDER, type, 6, -3, -0.0);
      assertBinary(BinaryFunction.DIVIDE, type, -1, 0, -INF);
      assertBinary(BinaryFunction.DIVIDE, type, 0, 0, NAN);
    }
  }

  @Test
  void extremesOfFloats() {
    for (ElementType type : FLOATS) {
      assertBinary(BinaryFunction.MINIMUM, type, NAN, 1, NAN);
      assertBinary(BinaryFunction.MAXIMUM, type, 1, NAN, NAN);
      assertBinary(BinaryFunction.MINIMUM, type, 0.0, -0.0, -0.0);
      assertBinary(BinaryFunction.MAXIMUM, type, -0.0, 0.0, 0.0);
      assertBinary(BinaryFunction.POW, type, NAN, 0, 1);
      assertBinary(BinaryFunction.POW, type, 1, NAN, 1);
      assertBinary(BinaryFunction.POW, type, -1, -INF, 1);
      assertBinary(BinaryFunction.POW, type, -8, 1.0 / 3, NAN);
      assertBinary(BinaryFunction.ATAN2, type, -0.0, 1, -0.0);
      assertBinary(BinaryFunction.HYPOT, type, -3, 4, 5);
      assertBinary(BinaryFunction.HYPOT, type, NAN, -INF, INF);
      assertUnary(UnaryFunction.SIGMOID, type, -INF, 0);
      assertUnary(UnaryFunction.SIGMOID, type, INF, 1);
      assertUnary(UnaryFunction.SIGMOID, type, 0, 0.5);
      assertUnary(UnaryFunction.LOG, type, 0, -INF);
      assertUnary(UnaryFunction.LOG, type, -1, NAN);
      assertUnary(UnaryFunction.SQRT, type, -0.0, -0.0);
      assertUnary(UnaryFunction.EXPM1, type, -0.0, -0.0);
    }
  }

  @Test
  void comparisonsWithNaN() {
    for (ElementType type : FLOATS) {
      assertBinary(BinaryFunction.LESS, type, NAN, 1, 0);
      assertBinary(BinaryFunction.LESS_EQUAL, type, 1, NAN, 0);
      assertBinary(BinaryFunction.EQUAL, type, NAN, NAN, 0);
      assertBinary(BinaryFunction.NOT_EQUAL, type, NAN, NAN, 1);
      assertBinary(BinaryFunction.EQUAL, type, 0.0, -0.0, 1);
      assertBinary(BinaryFunction.LESS, type, -0.0, 0.0, 0);
    }
  }

  @Test
  void refusesOtherTypes() {
    for (ElementType type : INTEGERS) {
      assertThrows(IllegalArgumentException.class, () -> UnaryFunction.SQRT.type(type));
      assertThrows(IllegalArgumentException.class, () -> BinaryFunction.DIVIDE.type(type));
    }
    IllegalArgumentException refusal =
        assertThrows(
            IllegalArgumentException.class, () -> BinaryFunction.AND.type(ElementType.FLOAT64));
    assertTrue(refusal.getMessage().contains("[INT8]; found FLOAT64"), refusal.getMessage());
  }

  private static double least(ElementType type) {
    return -Math.scalb(1.0, 8 * type.bytes() - 1);
  }

  private static void assertUnary(
      UnaryFunction function, ElementType type, double x, double expected) {
    long bits = ElementwiseCases.bits(type, x);
    ElementType to = function.type(type);
    assertBits(
        function + " " + type + " " + x,
        to,
        expected,
        ElementwiseCases.one(function.hostLoop(type), type, bits, bits, to));
  }

  private static void assertBinary(
      BinaryFunction function, ElementType type, double x, double y, double expected) {
    ElementType to = function.type(type);
    assertBits(
        function + " " + type + " " + x + " " + y,
        to,
        expected,
        ElementwiseCases.one(
            function.hostLoop(type),
            type,
            ElementwiseCases.bits(type, x),
            ElementwiseCases.bits(type, y),
            to));
  }

  private static void assertBits(String what, ElementType type, double expected, long found) {
    assertEquals(
        ElementwiseCases.comparable(type, ElementwiseCases.bits(type, expected)),
        ElementwiseCases.comparable(type, found),
        what);
  }
}
