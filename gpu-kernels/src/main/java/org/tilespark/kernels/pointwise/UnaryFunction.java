package org.tilespark.kernels.pointwise;

import org.tilespark.layout.ElementType;

/** A function of one value of an {@link ElementwiseProgram}. */
public enum UnaryFunction {
  /** {@code -x}; of integers modulo 2^bits. */
  NEGATE,
  /** Absolute value; of the least integer itself. */
  ABS,
  /** Square root of a floating-point number. */
  SQRT;

  /** Type of the result, from that of the operand. */
  ElementType type(ElementType operand) {
    return operand;
  }
}
