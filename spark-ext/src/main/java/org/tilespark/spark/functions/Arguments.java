package org.tilespark.spark.functions;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.FunctionTableSubqueryArgumentExpression;
import org.apache.spark.sql.catalyst.expressions.NamedArgumentExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;
import org.tilespark.spark.Suggestions;

/**
 * The arguments of one call of a table function, bound to the function's parameters: by position or
 * by name ({@code axes => 'yzx'}).
 */
final class Arguments {
  /** The parameters that take a table, of all functions. */
  private static final Set<String> TABLES = Set.of("input", "a", "b");

  private final String usage;
  private final Map<String, Expression> bound = new LinkedHashMap<>();

  /**
   * Binds arguments to parameters.
   *
   * @param usage the function's signature, for messages
   * @param parameters names, in positional order
   * @throws IllegalArgumentException if there are too many, an unknown name, or one twice
   */
  Arguments(String usage, List<String> parameters, List<Expression> arguments) {
    this.usage = usage;
    List<String> open = new ArrayList<>(parameters);
    boolean named = false;
    for (Expression argument : arguments) {
      String parameter;
      Expression value = argument;
      if (argument instanceof NamedArgumentExpression withName) {
        named = true;
        value = withName.value();
        parameter =
            parameters.stream()
                .filter(withName.key()::equalsIgnoreCase)
                .findFirst()
                .orElseThrow(
                    () ->
                        new IllegalArgumentException(
                            usage
                                + ": there is no parameter "
                                + withName.key()
                                + "; expected "
                                + String.join(", ", parameters)
                                + Suggestions.didYouMean(withName.key(), parameters)));
      } else if (named) {
        throw new IllegalArgumentException(
            usage + ": a positional argument follows a named one; name it too");
      } else if (open.isEmpty()) {
        throw new IllegalArgumentException(
            usage
                + ": found "
                + arguments.size()
                + " arguments; expected at most "
                + parameters.size());
      } else {
        parameter = open.get(0);
      }
      if (value instanceof FunctionTableSubqueryArgumentExpression && !TABLES.contains(parameter)) {
        List<String> tables = parameters.stream().filter(TABLES::contains).toList();
        throw new IllegalArgumentException(
            usage
                + ": "
                + parameter
                + " is a table; expected tables for "
                + String.join(" and ", tables)
                + " only");
      }
      if (bound.put(parameter, value) != null) {
        throw new IllegalArgumentException(usage + ": parameter " + parameter + " is given twice");
      }
      open.remove(parameter);
    }
  }

  /**
   * The plan behind a table argument.
   *
   * @throws IllegalArgumentException if the argument is missing or no {@code TABLE(...)}
   */
  LogicalPlan table(String parameter) {
    Expression value = required(parameter);
    if (value instanceof FunctionTableSubqueryArgumentExpression table) {
      return table.plan();
    }
    throw new IllegalArgumentException(
        usage
            + ": "
            + parameter
            + " is "
            + value.sql()
            + "; expected a table, as TABLE(name) or"
            + " TABLE(SELECT ...)");
  }

  /**
   * A text that is known when the query is planned.
   *
   * @throws IllegalArgumentException if the argument is missing, null or no constant text
   */
  String text(String parameter) {
    Expression value = required(parameter);
    Object constant = value.foldable() ? value.eval(null) : null;
    boolean isText =
        constant instanceof UTF8String
            || constant instanceof Number
            || constant instanceof Decimal
            || constant instanceof Boolean;
    if (!isText) {
      throw new IllegalArgumentException(
          usage + ": " + parameter + " is " + value.sql() + "; expected a constant text");
    }
    return constant.toString();
  }

  /**
   * A whole number that is known when the query is planned.
   *
   * @throws IllegalArgumentException if the argument is missing, null or no constant whole number
   */
  long number(String parameter) {
    Expression value = required(parameter);
    Object constant = value.foldable() ? value.eval(null) : null;
    if (constant instanceof Integer
        || constant instanceof Long
        || constant instanceof Short
        || constant instanceof Byte) {
      return ((Number) constant).longValue();
    }
    throw new IllegalArgumentException(
        usage + ": " + parameter + " is " + value.sql() + "; expected a constant whole number");
  }

  /**
   * A number that is known when the query is planned.
   *
   * @throws IllegalArgumentException if the argument is missing, null or no constant number
   */
  double decimal(String parameter) {
    try {
      return Double.parseDouble(text(parameter));
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException(
          usage + ": " + parameter + " is " + text(parameter) + "; expected a constant number", e);
    }
  }

  /** As {@link #number}, or empty if the argument was not given. */
  OptionalLong optionalNumber(String parameter) {
    return bound.containsKey(parameter) ? OptionalLong.of(number(parameter)) : OptionalLong.empty();
  }

  /** As {@link #text}, or empty if the argument was not given. */
  Optional<String> optionalText(String parameter) {
    return bound.containsKey(parameter) ? Optional.of(text(parameter)) : Optional.empty();
  }

  /** The texts of those of these arguments that were given, by parameter. */
  Map<String, String> optionalTexts(List<String> parameters) {
    Map<String, String> texts = new LinkedHashMap<>();
    for (String parameter : parameters) {
      optionalText(parameter).ifPresent(text -> texts.put(parameter, text));
    }
    return texts;
  }

  private Expression required(String parameter) {
    Expression value = bound.get(parameter);
    if (value == null) {
      throw new IllegalArgumentException(usage + ": argument " + parameter + " is missing");
    }
    return value;
  }
}
