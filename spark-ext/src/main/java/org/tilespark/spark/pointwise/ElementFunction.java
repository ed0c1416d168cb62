package org.tilespark.spark.pointwise;

import java.util.function.Function;
import org.tilespark.kernels.pointwise.BinaryFunction;
import org.tilespark.kernels.pointwise.UnaryFunction;

/**
 * A function of elementwise expressions: its arguments, and its translation to values.
 *
 * @param name name in lower case
 * @param fewest arguments that it takes
 * @param most arguments that it takes
 * @param lowering makes the result of a call with this number of arguments, and refuses arguments
 *     of wrong types
 */
record ElementFunction(String name, int fewest, int most, Function<Call, Term> lowering) {
  /** A function that takes exactly this count of arguments. */
  static ElementFunction of(String name, int arguments, Function<Call, Term> lowering) {
    return new ElementFunction(name, arguments, arguments, lowering);
  }

  /** A function of one real number that computes in FLOAT or DOUBLE. */
  static ElementFunction floating(String name, UnaryFunction function) {
    return of(name, 1, call -> call.real().floating().apply(function));
  }

  /** A function of two real numbers that computes in FLOAT or DOUBLE. */
  static ElementFunction floating(String name, BinaryFunction function) {
    return of(name, 2, call -> call.real().floating().apply(function));
  }

  /** A function that rounds real numbers to integers, and leaves integers unchanged. */
  static ElementFunction rounding(String name, UnaryFunction function) {
    return of(name, 1, call -> ElementFunctions.rounded(call.real(), function));
  }

  /** A function of two or more real numbers, which computes in their common type. */
  static ElementFunction ofAll(String name, BinaryFunction function) {
    return new ElementFunction(
        name, 2, Integer.MAX_VALUE, call -> ElementFunctions.extreme(call.real(), function));
  }

  /** A named constant, without arguments. */
  static ElementFunction number(String name, double value) {
    return of(name, 0, call -> Term.literal(value));
  }

  /** The result of a call. */
  Term apply(Call call) {
    int count = call.arguments().size();
    if (count < fewest || count > most) {
      throw call.wrong("%s takes %s; found %s".formatted(name, countText(), count));
    }
    return lowering.apply(call);
  }

  private String countText() {
    String from = fewest == 1 && most == 1 ? "1 argument" : fewest + " arguments";
    if (most == fewest) {
      return from;
    }
    return most == Integer.MAX_VALUE
        ? fewest + " or more arguments"
        : "%s to %s arguments".formatted(fewest, most);
  }
}
