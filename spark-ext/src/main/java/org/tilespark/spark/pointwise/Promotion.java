package org.tilespark.spark.pointwise;

import java.util.List;
import java.util.Optional;
import org.tilespark.layout.ElementType;

/**
 * The common type of values of several types: numpy's {@code result_type} of arrays and Python
 * numbers (NEP 50). Literals are the Python numbers: they add a kind (integer, floating-point,
 * complex), and no width.
 */
final class Promotion {
  private Promotion() {}

  /** The common type of all terms. */
  static ValueType of(List<Term> terms) {
    Optional<ValueType> typed =
        terms.stream().filter(x -> !x.isLiteral()).map(Term::type).reduce(ValueType::with);
    Optional<ValueType> literals =
        terms.stream().filter(Term::isLiteral).map(Term::type).reduce(ValueType::with);
    if (typed.isEmpty() || literals.isEmpty()) {
      return typed.or(() -> literals).orElseThrow();
    }
    return withLiteral(typed.get(), literals.get());
  }

  /** The common type of a typed value and literals. */
  static ValueType withLiteral(ValueType typed, ValueType literal) {
    if (typed.isFloating()) {
      return literal.isComplex() ? ValueType.complex(typed.element()) : typed;
    }
    if (literal.isFloating()) {
      return literal; // a type with parts of FLOAT64
    }
    return typed.isBool() && !literal.isBool() ? ValueType.real(ElementType.INT64) : typed;
  }
}
