package org.tilespark.kernels.pointwise;

import java.util.EnumMap;
import java.util.Map;
import java.util.function.DoubleBinaryOperator;
import java.util.function.DoubleUnaryOperator;
import java.util.function.IntBinaryOperator;
import java.util.function.LongBinaryOperator;
import java.util.function.LongUnaryOperator;
import org.tilespark.kernels.pointwise.HostLoop.DoubleTest;
import org.tilespark.kernels.pointwise.HostLoop.FloatOperator;
import org.tilespark.kernels.pointwise.HostLoop.LongTest;
import org.tilespark.layout.ElementType;

/**
 * A function of one or two values on the host, and the types it takes: the host's half of {@link
 * UnaryFunction} and {@link BinaryFunction}. A function of one value ignores its second argument.
 * Loops are made at their first use. Safe for several threads.
 */
final class HostFunction {
  private record Kind(Class<? extends HostLoop> template, Object operator) {}

  private final boolean isTest;
  private final Map<ElementType, Kind> kinds;
  private final Map<ElementType, HostLoop> loops = new EnumMap<>(ElementType.class);

  private HostFunction(boolean isTest, Map<ElementType, Kind> kinds) {
    this.isTest = isTest;
    this.kinds = kinds;
  }

  /** A function on numbers of all types, whose result has the operands' type. */
  static HostFunction numbers(
      IntBinaryOperator ints,
      LongBinaryOperator longs,
      FloatOperator floats,
      DoubleBinaryOperator doubles) {
    HostFunction function = floats(floats, doubles);
    function.kinds.put(
        ElementType.INT8, new Kind(HostLoop.Ints.class, narrowed(ElementType.INT8, ints)));
    function.kinds.put(
        ElementType.INT16, new Kind(HostLoop.Ints.class, narrowed(ElementType.INT16, ints)));
    function.kinds.put(ElementType.INT32, new Kind(HostLoop.Ints.class, ints));
    function.kinds.put(ElementType.INT64, new Kind(HostLoop.Longs.class, longs));
    return function;
  }

  /** A function on floating-point numbers, whose result has the operands' type. */
  static HostFunction floats(FloatOperator floats, DoubleBinaryOperator doubles) {
    Map<ElementType, Kind> kinds = new EnumMap<>(ElementType.class);
    kinds.put(ElementType.FLOAT32, new Kind(HostLoop.Floats.class, floats));
    kinds.put(ElementType.FLOAT64, new Kind(HostLoop.Doubles.class, doubles));
    return new HostFunction(false, kinds);
  }

  /** A function of one BIGINT, whose result is a BIGINT. */
  static HostFunction longs(LongUnaryOperator function) {
    LongBinaryOperator ofTwo = (x, y) -> function.applyAsLong(x);
    Map<ElementType, Kind> kinds = new EnumMap<>(ElementType.class);
    kinds.put(ElementType.INT64, new Kind(HostLoop.Longs.class, ofTwo));
    return new HostFunction(false, kinds);
  }

  /** A function of two floating-point numbers, computed in double precision. */
  static HostFunction inDouble(DoubleBinaryOperator function) {
    return floats((x, y) -> (float) function.applyAsDouble(x, y), function);
  }

  /** A function of one floating-point number, computed in double precision. */
  static HostFunction inDouble(DoubleUnaryOperator function) {
    return inDouble((x, y) -> function.applyAsDouble(x));
  }

  /** A test of numbers of all types, whose result is a truth. */
  static HostFunction test(LongTest integers, DoubleTest floats) {
    HostFunction function = test(floats);
    function.kinds.put(ElementType.INT8, new Kind(HostLoop.IntTests.class, integers));
    function.kinds.put(ElementType.INT16, new Kind(HostLoop.IntTests.class, integers));
    function.kinds.put(ElementType.INT32, new Kind(HostLoop.IntTests.class, integers));
    function.kinds.put(ElementType.INT64, new Kind(HostLoop.LongTests.class, integers));
    return function;
  }

  /** A test of floating-point numbers, whose result is a truth. */
  static HostFunction test(DoubleTest floats) {
    Map<ElementType, Kind> kinds = new EnumMap<>(ElementType.class);
    kinds.put(ElementType.FLOAT32, new Kind(HostLoop.FloatTests.class, floats));
    kinds.put(ElementType.FLOAT64, new Kind(HostLoop.DoubleTests.class, floats));
    return new HostFunction(true, kinds);
  }

  /** A test of truths, whose result is a truth; a number that is not 0 is true. */
  static HostFunction truth(LongTest truths) {
    Map<ElementType, Kind> kinds = new EnumMap<>(ElementType.class);
    kinds.put(ElementType.INT8, new Kind(HostLoop.IntTests.class, truths));
    return new HostFunction(true, kinds);
  }

  private static IntBinaryOperator narrowed(ElementType type, IntBinaryOperator ints) {
    return type == ElementType.INT8
        ? (x, y) -> (byte) ints.applyAsInt(x, y)
        : (x, y) -> (short) ints.applyAsInt(x, y);
  }

  /**
   * Type of the result for operands of a type.
   *
   * @throws IllegalArgumentException if the function does not take operands of this type
   */
  ElementType type(ElementType operand) {
    if (!kinds.containsKey(operand)) {
      throw new IllegalArgumentException("it takes " + kinds.keySet() + "; found " + operand);
    }
    return isTest ? ElementType.INT8 : operand;
  }

  /** The loop for operands of a type that the function takes. */
  synchronized HostLoop loop(ElementType operand) {
    return loops.computeIfAbsent(
        operand,
        type -> {
          Kind kind = kinds.get(type);
          return HostLoop.of(kind.template(), kind.operator());
        });
  }
}
