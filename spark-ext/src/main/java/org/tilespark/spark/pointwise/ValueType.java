package org.tilespark.spark.pointwise;

import org.tilespark.layout.ElementType;
import org.tilespark.spark.block.BlockSchema;

/**
 * The type of an array's elements, as an elementwise expression sees it.
 *
 * @param element element type, or the type of the real and imaginary parts
 * @param isComplex true if each element has an imaginary part
 * @param isBool true if each element is a truth value: 0 or 1, in INT8
 */
public record ValueType(ElementType element, boolean isComplex, boolean isBool) {
  /** The type of truth values. */
  public static final ValueType BOOL = new ValueType(ElementType.INT8, false, true);

  /**
   * Checks that the components fit each other.
   *
   * @throws IllegalArgumentException if integers are complex or truth values are not INT8
   */
  public ValueType {
    if (isComplex && !isFloating(element)) {
      throw new IllegalArgumentException("Complex elements have FLOAT or DOUBLE parts; " + element);
    }
    if (isBool && (isComplex || element != ElementType.INT8)) {
      throw new IllegalArgumentException("Truth values are real TINYINT; found " + element);
    }
  }

  /** The type of numbers without imaginary parts. */
  public static ValueType real(ElementType element) {
    return new ValueType(element, false, false);
  }

  /** The type of numbers with imaginary parts. */
  public static ValueType complex(ElementType element) {
    return new ValueType(element, true, false);
  }

  /** True for FLOAT32 and FLOAT64. */
  static boolean isFloating(ElementType element) {
    return element == ElementType.FLOAT32 || element == ElementType.FLOAT64;
  }

  /** True for real or complex floating-point numbers. */
  boolean isFloating() {
    return isFloating(element);
  }

  /**
   * The type's name, for messages: {@code "TINYINT"}, {@code "complex FLOAT"} or {@code "a truth
   * value"}.
   */
  String text() {
    if (isBool) {
      return "a truth value";
    }
    return (isComplex ? "complex " : "") + BlockSchema.sparkType(element).sql();
  }

  /**
   * The type of numpy's {@code result_type} of two arrays: the least type that holds both; by
   * definition FLOAT holds SMALLINT, and DOUBLE holds BIGINT.
   */
  ValueType with(ValueType other) {
    if (isBool || other.isBool) {
      return isBool ? other : this;
    }
    ElementType both = with(element, other.element);
    return isComplex || other.isComplex ? complex(both) : real(both);
  }

  /** The floating-point type in which functions as {@code sqrt} compute. */
  ValueType floating() {
    return isFloating() ? this : real(with(element, ElementType.FLOAT32));
  }

  private static ElementType with(ElementType a, ElementType b) {
    if (isFloating(a) == isFloating(b)) {
      return a.compareTo(b) >= 0 ? a : b; // types are declared by ascending width
    }
    ElementType integer = isFloating(a) ? b : a;
    ElementType floating = isFloating(a) ? a : b;
    return integer.bytes() > ElementType.INT16.bytes() ? ElementType.FLOAT64 : floating;
  }
}
