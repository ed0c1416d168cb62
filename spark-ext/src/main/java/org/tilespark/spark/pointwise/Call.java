package org.tilespark.spark.pointwise;

import java.util.List;
import java.util.function.BinaryOperator;
import org.tilespark.kernels.pointwise.BinaryFunction;
import org.tilespark.kernels.pointwise.UnaryFunction;

/**
 * A function and its arguments, from which an {@link ElementFunction} makes the result. Immutable.
 *
 * @param name name of the function or operator, for messages
 * @param found the call in the text
 * @param arguments terms in the order of the text
 * @param axes number of axes of the array
 */
record Call(String name, Found found, List<Term> arguments, int axes) {
  Call {
    arguments = List.copyOf(arguments);
  }

  /** An argument. */
  Term argument(int i) {
    return arguments.get(i);
  }

  /** The error that the call is wrong as {@code what} says. */
  IllegalArgumentException wrong(String what) {
    return found.wrong(what);
  }

  /** This call with other arguments. */
  Call with(List<Term> others) {
    return new Call(name, found, others, axes);
  }

  /** This call; fails if an argument is complex. */
  Call real() {
    for (Term argument : arguments) {
      if (argument.isComplex()) {
        throw wrong(name + " takes real values; found " + argument.type().text());
      }
    }
    return this;
  }

  /** This call; fails if an argument is no truth value. */
  Call bools() {
    for (Term argument : arguments) {
      if (!argument.isBool()) {
        throw wrong(
            "%s takes truth values; found %s; write a comparison, as v <> 0"
                .formatted(name, argument.type().text()));
      }
    }
    return this;
  }

  /** The type that all arguments have in common. */
  ValueType commonType() {
    return Promotion.of(arguments);
  }

  /** This call with its arguments in their common type. */
  Call common() {
    return in(commonType());
  }

  /** This call with its arguments converted to their common type; truth values become TINYINT. */
  Call numbers() {
    ValueType type = commonType();
    return in(type.isBool() ? ValueType.real(type.element()) : type);
  }

  /**
   * This call with its arguments in their common type, or the floating-point type that corresponds
   * to it.
   */
  Call floating() {
    return in(commonType().floating());
  }

  /**
   * This call with its arguments in a type.
   *
   * @throws IllegalArgumentException if a literal does not fit
   */
  Call in(ValueType type) {
    return with(arguments.stream().map(argument -> in(type, argument)).toList());
  }

  /** An argument in a type. */
  private Term in(ValueType type, Term argument) {
    requireFit(found, type, argument);
    return argument.in(type);
  }

  /**
   * Refuses integer literals that a type cannot represent.
   *
   * @param found the part of the text that combines them with the type
   */
  static void requireFit(Found found, ValueType type, Term term) {
    if (term.exceeds(type.element())) {
      throw found.wrong(
          "an integer literal does not fit %s; CAST the other operand to a wider type"
              .formatted(type.text()));
    }
  }

  /** The result of the function on the only argument; on both parts if that is complex. */
  Term apply(UnaryFunction function) {
    return argument(0).map(x -> Value.of(function, x));
  }

  /** The result of the function on real arguments, applied to two at a time from the left. */
  Term apply(BinaryFunction function) {
    return result(
        arguments.stream()
            .map(Term::real)
            .reduce((x, y) -> Value.of(function, x, y))
            .orElseThrow());
  }

  /**
   * The result of the function on the two arguments; if they are complex, on their real parts and
   * on their imaginary parts.
   */
  Term applyToParts(BinaryOperator<Value> function) {
    Term x = argument(0);
    Term y = argument(1);
    return x.isComplex()
        ? result(function.apply(x.real(), y.real()), function.apply(x.imag(), y.imag()))
        : result(function.apply(x.real(), y.real()));
  }

  /**
   * A number with these parts: real, and imaginary if it is complex. Its type adapts to other
   * operands, as a literal's, if those of all arguments do.
   */
  Term result(Value... parts) {
    return Term.of(List.of(parts), arguments.stream().allMatch(Term::isLiteral));
  }
}
