package org.tilespark.spark.reduce;

import java.util.ArrayList;
import java.util.List;
import org.tilespark.kernels.reduce.BaseReduction;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.pointwise.ValueType;

/**
 * The formula of a reduction: base reductions of expressions on the elements {@code v}, and an
 * expression on their results. The latter names the results {@code r0}, {@code r1} and so on, in
 * the order of the base reductions (see {@link BaseReduction}), and the count of elements {@code
 * n}. Immutable.
 *
 * @param bases base reductions, at least one
 * @param finish expression on the results of the base reductions, which gives the result
 * @param result type of the formula's result
 * @param complex treatment of complex elements
 * @param takesTruth false if the formula refuses truth values
 */
record Formula(
    List<Base> bases, String finish, Result result, Complex complex, boolean takesTruth) {
  /**
   * A base reduction of an expression.
   *
   * @param of expression on an element {@code v}; if {@code v} is a part of a complex element,
   *     {@code whole} names the element
   */
  record Base(BaseReduction reduction, String of) {
    /** The expression for a part of the elements: {@code v}, {@code real(v)} or {@code imag(v)}. */
    String of(String part) {
      return of.replaceAll("\\bv\\b", part).replaceAll("\\bwhole\\b", "v");
    }
  }

  /** Treatment of complex elements by a formula. */
  enum Complex {
    /** The formula refuses complex elements. */
    REFUSED,
    /** The formula accepts complex elements; its expressions handle them. */
    TAKEN,
    /** The formula accepts complex elements: real and imaginary parts are reduced separately. */
    BY_PARTS,
    /** The formula accepts complex elements: the results of real and imaginary parts are added. */
    ADDED
  }

  /** The type of a result, from that of the elements. */
  enum Result {
    /** The type of the elements. */
    SAME {
      @Override
      ValueType of(ValueType elements) {
        return elements;
      }
    },
    /** BIGINT for integers and truth values, otherwise the type of the elements. */
    SUM {
      @Override
      ValueType of(ValueType elements) {
        return isFloating(elements) ? elements : ValueType.real(ElementType.INT64);
      }
    },
    /** DOUBLE for integers and truth values, otherwise the type of the elements. */
    FRACTION {
      @Override
      ValueType of(ValueType elements) {
        return isFloating(elements) ? elements : ValueType.real(ElementType.FLOAT64);
      }
    },
    /**
     * DOUBLE for integers and truth values, otherwise the type of the elements; for complex numbers
     * that of their parts.
     */
    SIZE {
      @Override
      ValueType of(ValueType elements) {
        return ValueType.real(FRACTION.of(elements).element());
      }
    },
    /** BIGINT. */
    COUNT {
      @Override
      ValueType of(ValueType elements) {
        return ValueType.real(ElementType.INT64);
      }
    },
    /** A truth value. */
    TRUTH {
      @Override
      ValueType of(ValueType elements) {
        return ValueType.BOOL;
      }
    };

    abstract ValueType of(ValueType elements);

    private static boolean isFloating(ValueType type) {
      return type.element() == ElementType.FLOAT32 || type.element() == ElementType.FLOAT64;
    }
  }

  /** Copies the list. */
  Formula {
    bases = List.copyOf(bases);
  }

  /** A formula for real elements, whose result is that of one base reduction. */
  static Formula of(BaseReduction reduction, String expression) {
    return new Formula(
        List.of(new Base(reduction, expression)), "r0", Result.SAME, Complex.REFUSED, true);
  }

  /** This formula with one more base reduction. */
  Formula and(BaseReduction reduction, String expression) {
    List<Base> all = new ArrayList<>(bases);
    all.add(new Base(reduction, expression));
    return new Formula(all, finish, result, complex, takesTruth);
  }

  /**
   * This formula with another expression on the results of base reductions, which gives {@code
   * type}.
   */
  Formula giving(String expression, Result type) {
    return new Formula(bases, expression, type, complex, takesTruth);
  }

  /** This formula with a treatment of complex elements. */
  Formula taking(Complex elements) {
    return new Formula(bases, finish, result, elements, takesTruth);
  }

  /** This formula, which refuses truth values. */
  Formula ofNumbers() {
    return new Formula(bases, finish, result, complex, false);
  }
}
