package org.tilespark.spark.functions;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.stream.Collectors;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.FunctionTableSubqueryArgumentExpression;
import org.apache.spark.sql.catalyst.expressions.NamedArgumentExpression;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.error.Suggestions;

/**
 * The arguments of one call of a table function, bound to the function's parameters by position or
 * by name ({@code axes => 'yzx'}) and checked against their types.
 */
final class Arguments {
  private final Caller caller;
  private final String usage;
  private final Map<String, LogicalPlan> tables = new LinkedHashMap<>();
  private final Map<String, String> texts = new LinkedHashMap<>();

  /** Arguments by their parameters; texts are such that their types can read them. */
  Arguments(
      Caller caller, String usage, Map<String, LogicalPlan> tables, Map<String, String> texts) {
    this.caller = caller;
    this.usage = usage;
    this.tables.putAll(tables);
    this.texts.putAll(texts);
  }

  /**
   * Binds arguments to parameters.
   *
   * @param usage the function's signature, for messages
   * @param parameters in positional order
   * @throws IllegalArgumentException if there are too many, an unknown name, one twice, or one that
   *     is not what its parameter takes
   */
  Arguments(Caller caller, String usage, List<Parameter> parameters, List<Expression> arguments) {
    this.caller = caller;
    this.usage = usage;
    List<Parameter> open = new ArrayList<>(parameters);
    boolean isNamed = false;
    for (Expression argument : arguments) {
      Parameter parameter;
      Expression value = argument;
      if (argument instanceof NamedArgumentExpression withName) {
        isNamed = true;
        value = withName.value();
        parameter = named(withName.key(), parameters);
      } else if (isNamed) {
        throw bad("a positional argument follows a named one; name it too");
      } else if (open.isEmpty()) {
        throw bad(
            "found " + arguments.size() + " arguments; expected at most " + parameters.size());
      } else {
        parameter = open.get(0);
      }
      if (!open.remove(parameter)) {
        throw bad("parameter " + parameter.name() + " is given twice");
      }
      bind(parameter, value, parameters);
    }
  }

  private Parameter named(String name, List<Parameter> parameters) {
    List<String> names = parameters.stream().map(Parameter::name).toList();
    return parameters.stream()
        .filter(parameter -> parameter.isNamed(name))
        .findFirst()
        .orElseThrow(
            () ->
                bad(
                    "there is no parameter %s; expected %s%s"
                        .formatted(
                            name, String.join(", ", names), Suggestions.didYouMean(name, names))));
  }

  private void bind(Parameter parameter, Expression value, List<Parameter> parameters) {
    String name = parameter.name();
    if (value instanceof FunctionTableSubqueryArgumentExpression table) {
      if (!parameter.isTable()) {
        throw bad(
            "%s is a table; expected tables for %s only"
                .formatted(
                    name,
                    parameters.stream()
                        .filter(Parameter::isTable)
                        .map(Parameter::name)
                        .collect(Collectors.joining(" and "))));
      }
      requireUndivided(name, table);
      tables.put(name, table.plan());
      return;
    }
    texts.put(
        name,
        parameter
            .type()
            .read(value)
            .orElseThrow(
                () ->
                    bad(
                        "%s is %s; expected %s"
                            .formatted(name, value.sql(), parameter.type().expected()))));
  }

  /** Refuses the clauses of a table argument that say how Spark should deal its rows out. */
  private void requireUndivided(String name, FunctionTableSubqueryArgumentExpression table) {
    List<String> clauses = new ArrayList<>();
    List<Expression> by = ScalaInterop.list(table.partitionByExpressions());
    List<SortOrder> order = ScalaInterop.list(table.orderByExpressions());
    if (!by.isEmpty()) {
      clauses.add("PARTITION BY " + sql(by));
    }
    if (table.withSinglePartition()) {
      clauses.add("WITH SINGLE PARTITION");
    }
    if (!order.isEmpty()) {
      clauses.add("ORDER BY " + sql(order));
    }
    if (!clauses.isEmpty()) {
      throw bad(
          ("table %s has %s; expected the table alone, since the function deals out and orders"
                  + " blocks by itself. What tells several arrays apart is a column beside the"
                  + " block's own: TABLE(SELECT *, %s AS part FROM ...)")
              .formatted(name, String.join(" ", clauses), by.isEmpty() ? "sample" : sql(by)));
    }
  }

  private static String sql(List<? extends Expression> expressions) {
    return expressions.stream().map(Expression::sql).collect(Collectors.joining(", "));
  }

  /** Who asks, for messages. */
  String function() {
    return caller.name();
  }

  /** Whose session it is. */
  Caller caller() {
    return caller;
  }

  /**
   * The plan behind a table argument.
   *
   * @throws IllegalArgumentException if the argument is missing
   */
  LogicalPlan table(String parameter) {
    return given(tables.get(parameter), parameter);
  }

  /**
   * An argument's text; of several numbers or words, these with commas between them.
   *
   * @throws IllegalArgumentException if the argument is missing
   */
  String text(String parameter) {
    return given(texts.get(parameter), parameter);
  }

  /** A whole number; errors as {@link #text}. */
  long whole(String parameter) {
    return Long.parseLong(text(parameter).trim());
  }

  /** A number; errors as {@link #text}. */
  double number(String parameter) {
    return Double.parseDouble(text(parameter));
  }

  /** As {@link #text}, or empty if the argument was not given. */
  Optional<String> optionalText(String parameter) {
    return Optional.ofNullable(texts.get(parameter));
  }

  /** As {@link #whole}, or empty if the argument was not given. */
  OptionalLong optionalWhole(String parameter) {
    return texts.containsKey(parameter) ? OptionalLong.of(whole(parameter)) : OptionalLong.empty();
  }

  /** As {@link #number}, or empty if the argument was not given. */
  OptionalDouble optionalNumber(String parameter) {
    return texts.containsKey(parameter)
        ? OptionalDouble.of(number(parameter))
        : OptionalDouble.empty();
  }

  /** The texts of those of these arguments that were given, by parameter. */
  Map<String, String> texts(List<String> parameters) {
    Map<String, String> given = new LinkedHashMap<>(texts);
    given.keySet().retainAll(parameters);
    return given;
  }

  private <T> T given(T value, String parameter) {
    if (value == null) {
      throw bad("argument " + parameter + " is missing; expected " + usage);
    }
    return value;
  }

  private IllegalArgumentException bad(String defect) {
    return new IllegalArgumentException(caller.name() + ": " + defect);
  }
}
