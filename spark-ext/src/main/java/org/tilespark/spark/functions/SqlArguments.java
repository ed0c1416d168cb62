package org.tilespark.spark.functions;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.FunctionTableSubqueryArgumentExpression;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.NamedArgumentExpression;
import org.apache.spark.sql.catalyst.expressions.RuntimeReplaceable;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.NumericType;
import org.apache.spark.sql.types.StringType;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.error.Suggestions;
import org.tilespark.spark.options.Parameter;
import org.tilespark.spark.options.Type;

/**
 * The arguments of a call in SQL, bound to the function's parameters by position or by name ({@code
 * axes => 'yzx'}), as values of their types.
 */
final class SqlArguments {
  private final TableFunctions function;
  private final Map<String, Object> values = new HashMap<>();

  private SqlArguments(TableFunctions function) {
    this.function = function;
  }

  /** Constants as a call in SQL names them: {@code name => literal}. */
  static List<Expression> named(Map<String, Object> constants) {
    return constants.entrySet().stream()
        .<Expression>map(
            each ->
                new NamedArgumentExpression(each.getKey(), Literal$.MODULE$.apply(each.getValue())))
        .toList();
  }

  /**
   * The arguments' values by the names of their parameters.
   *
   * @param tables plans for the first parameters, if they are no expressions
   * @param arguments all other arguments
   * @throws IllegalArgumentException if there are too many arguments, an unknown name, a repeated
   *     one, or a value that its parameter does not accept
   */
  static Map<String, Object> bind(
      TableFunctions function, List<LogicalPlan> tables, List<Expression> arguments) {
    SqlArguments bound = new SqlArguments(function);
    List<Parameter<?>> open = new ArrayList<>(function.parameters());
    for (LogicalPlan table : tables) {
      bound.values.put(open.remove(0).name(), table);
    }
    boolean takesScalars = open.remove(Parameter.SCALARS);
    Map<String, Object> scalars = new LinkedHashMap<>();
    boolean isNamed = false;
    for (Expression argument : arguments) {
      Parameter<?> parameter;
      Expression value = argument;
      if (argument instanceof NamedArgumentExpression withName) {
        isNamed = true;
        value = withName.value();
        String name = withName.key();
        if (takesScalars && bound.find(name).isEmpty()) {
          if (scalars.put(name, bound.number(name, value)) != null) {
            throw bound.bad("parameter " + name + " is given twice");
          }
          continue;
        }
        parameter = bound.named(name);
      } else if (isNamed) {
        throw bound.bad("a positional argument follows a named one; name it too");
      } else if (open.isEmpty()) {
        throw bound.bad(
            "found %s arguments; expected at most %s"
                .formatted(arguments.size(), function.parameters().size()));
      } else {
        parameter = open.get(0);
      }
      if (!open.remove(parameter)) {
        throw bound.bad("parameter " + parameter.name() + " is given twice");
      }
      bound.bind(parameter, value);
    }
    if (takesScalars) {
      bound.values.put(
          Parameter.SCALARS.name(),
          Parameter.SCALARS.read(function.sqlName(), Optional.of(scalars), scalars.toString()));
    }
    return bound.values;
  }

  private Object number(String name, Expression value) {
    return constant(value, Parameter.SCALARS.type())
        .orElseThrow(
            () -> bad("%s is %s; expected a constant number".formatted(name, value.sql())));
  }

  private Optional<Parameter<?>> find(String name) {
    return function.parameters().stream()
        .filter(parameter -> parameter != Parameter.SCALARS)
        .filter(parameter -> parameter.name().equalsIgnoreCase(name))
        .findFirst();
  }

  private Parameter<?> named(String name) {
    List<String> names = function.parameters().stream().map(Parameter::name).toList();
    return find(name)
        .orElseThrow(
            () ->
                bad(
                    "there is no parameter %s; expected %s%s"
                        .formatted(
                            name, String.join(", ", names), Suggestions.didYouMean(name, names))));
  }

  private void bind(Parameter<?> parameter, Expression value) {
    Optional<Object> argument;
    if (value instanceof FunctionTableSubqueryArgumentExpression table) {
      if (!Tables.isTable(parameter)) {
        throw bad(
            "%s is a table; expected tables for %s only"
                .formatted(
                    parameter.name(),
                    function.parameters().stream()
                        .filter(Tables::isTable)
                        .map(Parameter::name)
                        .collect(Collectors.joining(" and "))));
      }
      requireUndivided(parameter.name(), table);
      argument = Optional.of(table.plan());
    } else {
      argument = Tables.isTable(parameter) ? Optional.empty() : constant(value, parameter.type());
    }
    String what = function.sqlName() + ": " + parameter.name();
    values.put(parameter.name(), parameter.read(what, argument, value.sql()));
  }

  /** Refuses the clauses of a table argument that say how Spark should partition its rows. */
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

  private IllegalArgumentException bad(String defect) {
    return new IllegalArgumentException(function.sqlName() + ": " + defect);
  }

  // ---- constants

  /**
   * The value of an argument that is a number, a boolean, a text, or a list of these; empty if the
   * argument is something else, or null.
   */
  private static Optional<Object> constant(Expression argument, Type<?> type) {
    Expression plain = argument.transformUp(ScalaInterop.partialFunction(SqlArguments::evaluated));
    if (!plain.foldable()) {
      return Optional.empty();
    }
    Object constant = plain.eval(null);
    return type.takesArrays() && plain.dataType() instanceof ArrayType array
        ? elements((ArrayData) constant, array.elementType())
        : scalar(constant, plain.dataType());
  }

  /**
   * The expression to evaluate in place of one that cannot be evaluated directly: what Spark
   * replaces it by, or what an alias names; empty for other expressions.
   */
  private static Optional<Expression> evaluated(Expression expression) {
    return expression instanceof RuntimeReplaceable replaceable
        ? Optional.of(replaceable.replacement())
        : expression instanceof Alias variable ? Optional.of(variable.child()) : Optional.empty();
  }

  private static Optional<Object> elements(ArrayData array, DataType type) {
    List<Object> elements = new ArrayList<>();
    for (int i = 0; array != null && i < array.numElements(); i++) {
      scalar(array.isNullAt(i) ? null : array.get(i, type), type).ifPresent(elements::add);
    }
    return Optional.<Object>of(elements)
        .filter(all -> array != null && elements.size() == array.numElements());
  }

  private static Optional<Object> scalar(Object constant, DataType type) {
    boolean isConstant =
        type instanceof StringType || type instanceof NumericType || type instanceof BooleanType;
    return isConstant ? Optional.ofNullable(constant) : Optional.empty();
  }
}
