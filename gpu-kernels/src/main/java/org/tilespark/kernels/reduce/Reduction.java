package org.tilespark.kernels.reduce;

import org.tilespark.layout.ElementType;

/** Reductions of a sequence of numbers. */
public enum Reduction {
  /**
   * The sum of the numbers: INT64 modulo 2^64 for integers; for floating-point numbers FLOAT64,
   * added in the order of {@link ReductionProblem#TREE}; 0 for an empty sequence.
   */
  SUM {
    @Override
    ElementType type(ElementType element) {
      return computedIn(element);
    }
  },
  /** The least number; NaN if one of the numbers is NaN; -0 is less than 0. */
  MINIMUM,
  /** The greatest number; NaN if one of the numbers is NaN; -0 is less than 0. */
  MAXIMUM,
  /** The place of the first least number, or of the first NaN: an INT64. */
  ARGMIN {
    @Override
    ElementType type(ElementType element) {
      return ElementType.INT64;
    }
  },
  /** The place of the first greatest number, or of the first NaN: an INT64. */
  ARGMAX {
    @Override
    ElementType type(ElementType element) {
      return ElementType.INT64;
    }
  };

  /** Type of the result for elements of a type. */
  ElementType type(ElementType element) {
    return element;
  }

  /**
   * The type in which results for elements of a type are computed: INT64 for integers, FLOAT64 for
   * floating-point numbers.
   */
  static ElementType computedIn(ElementType element) {
    return switch (element) {
      case INT8, INT16, INT32, INT64 -> ElementType.INT64;
      case FLOAT32, FLOAT64 -> ElementType.FLOAT64;
    };
  }

  /** True if the result is a place. */
  public boolean isPlace() {
    return this == ARGMIN || this == ARGMAX;
  }
}
