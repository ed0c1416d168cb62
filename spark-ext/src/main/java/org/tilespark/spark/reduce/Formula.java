package org.tilespark.spark.reduce;

import java.util.ArrayList;
import java.util.List;
import org.tilespark.kernels.reduce.BaseReduction;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.pointwise.ValueType;

/**
 * How a reduction is computed: base reductions of expressions on the elements {@code v}, and an
 * expression on what they give. That names their numbers {@code r0}, {@code r1} and so on, those of
 * one base reduction after those of the one before (see {@link BaseReduction}), and the count of
 * elements {@code n}. Immutable.
 *
 * @param bases base reductions, at least one
 * @param finish the result
 * @param result its type
 * @param complex complex elements that it takes
 * @param takesTruth false if it refuses truth values
 */
record Formula(
    List<Base> bases, String finish, Result result, Complex complex, boolean takesTruth) {
  /**
   * A base reduction of an expression.
   *
   * @param of names an element {@code v}; where {@code v} is a part of a complex element, {@code
   *     whole} is the element
   */
  record Base(BaseReduction reduction, String of) {
    /** The expression for a part of the elements: {@code v}, {@code real(v)} or {@code imag(v)}. */
    String of(String part) {
      return of.replaceAll("\\bv\\b", part).replaceAll("\\bwhole\\b", "v");
    }
  }

  /** Complex elements that a formula takes. */
  enum Complex {
    /** No complex elements. */
    REFUSED,
    /** All complex elements; expressions say what they do with them. */
    TAKEN,
    /**
     * All complex elements: the real and the imaginary parts of the result are made of those of the
     * elements.
     */
    BY_PARTS,
    /** All complex elements: the numbers of their real and of their imaginary parts are added. */
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
    /** BIGINT of integers and truth values, else the type of the elements. */
    SUM {
      @Override
      ValueType of(ValueType elements) {
        return isFloating(elements) ? elements : ValueType.real(ElementType.INT64);
      }
    },
    /** DOUBLE of integers and truth values, else the same. */
    FRACTION {
      @Override
      ValueType of(ValueType elements) {
        return isFloating(elements) ? elements : ValueType.real(ElementType.FLOAT64);
      }
    },
    /** The type of FRACTION; of complex numbers the type of their parts. */
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

  /** One base reduction, for real elements, whose number is the result. */
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

  /** This formula with another last expression, and a result of a type. */
  Formula giving(String expression, Result type) {
    return new Formula(bases, expression, type, complex, takesTruth);
  }

  /** This formula for complex elements too. */
  Formula taking(Complex elements) {
    return new Formula(bases, finish, result, elements, takesTruth);
  }

  /** This formula for numbers only: not for truth values. */
  Formula ofNumbers() {
    return new Formula(bases, finish, result, complex, false);
  }
}
