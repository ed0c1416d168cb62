package org.tilespark.kernels.pointwise;

import org.tilespark.layout.ElementType;

/** A function of two values of one type of an {@link ElementwiseProgram}. */
public enum BinaryFunction {
  /** Sum; of integers modulo 2^bits. */
  ADD,
  /** Difference; of integers modulo 2^bits. */
  SUBTRACT,
  /** Product; of integers modulo 2^bits. */
  MULTIPLY,
  /** Quotient of floating-point numbers. */
  DIVIDE,
  /** 1 where the first is less, else 0. */
  LESS {
    @Override
    ElementType type(ElementType operand) {
      return ElementType.INT8;
    }
  };

  /** Type of the result, from that of the operands. */
  ElementType type(ElementType operand) {
    return operand;
  }
}
