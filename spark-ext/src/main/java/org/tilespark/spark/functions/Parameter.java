package org.tilespark.spark.functions;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.RuntimeReplaceable;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.NumericType;
import org.apache.spark.sql.types.StringType;
import org.tilespark.spark.catalyst.ScalaInterop;

/**
 * A parameter of table functions. Its declaration is the only one: the check of arguments, usage,
 * DESCRIBE FUNCTION and the tables in the docs are made of it.
 *
 * @param isRequired false if the argument may be left out
 * @param otherwise what holds without an argument, for the docs; empty if it is required
 * @param doc what it means, a phrase without a full stop
 */
record Parameter(String name, Type type, boolean isRequired, String otherwise, String doc) {
  /** What a parameter takes; all but tables are constants that have a normal form as text. */
  enum Type {
    /** Rows, as {@code TABLE(name)} or {@code TABLE(SELECT ...)}. */
    TABLE("TABLE", "a table, as TABLE(name) or TABLE(SELECT ...)"),
    /** A whole number, or its text. */
    WHOLE("BIGINT", "a constant whole number, as 4 or '4'") {
      @Override
      boolean accepts(String text) {
        try {
          Long.parseLong(text);
          return true;
        } catch (NumberFormatException e) {
          return false;
        }
      }
    },
    /** A number, or its text. */
    NUMBER("DOUBLE", "a constant number, as 0.5 or '0.5'") {
      @Override
      boolean accepts(String text) {
        try {
          Double.parseDouble(text);
          return true;
        } catch (NumberFormatException e) {
          return false;
        }
      }
    },
    /** A boolean, or its text. */
    FLAG("BOOLEAN", "true or false") {
      @Override
      boolean accepts(String text) {
        return text.equalsIgnoreCase("true") || text.equalsIgnoreCase("false");
      }
    },
    /** A word. */
    TEXT("STRING", "a constant text"),
    /** Numbers or words, in a text with commas or in an array; a single one stands for itself. */
    LIST("STRING or ARRAY", "a constant list, as '4,6' or array(4, 6)"),
    /** Axes by letters or by numbers. */
    AXES("STRING, INT or ARRAY", "constant axes, as 'yzx', '1,2,0' or array(1, 2, 0)"),
    /** One axis by its letter or number. */
    AXIS("STRING or INT", "a constant axis, as 'y' or 1");

    private final String sql;
    private final String expected;

    Type(String sql, String expected) {
      this.sql = sql;
      this.expected = expected;
    }

    /** The SQL types in words. */
    String sql() {
      return sql;
    }

    /** What an argument has to be, for messages. */
    String expected() {
      return expected;
    }

    /** True if a text says something of this type. */
    boolean accepts(String text) {
      return true;
    }

    private boolean takesArrays() {
      return this == LIST || this == AXES;
    }

    /**
     * The normal form of an argument: its text, with commas between the elements of an array.
     *
     * @return empty if it is no constant, null, or of a type that does not fit
     */
    Optional<String> read(Expression argument) {
      Expression plain = argument.transformUp(ScalaInterop.partialFunction(Type::evaluated));
      if (this == TABLE || !plain.foldable()) {
        return Optional.empty();
      }
      Object constant = plain.eval(null);
      if (takesArrays() && plain.dataType() instanceof ArrayType type) {
        return Optional.ofNullable((ArrayData) constant)
            .flatMap(array -> elements(array, type.elementType()));
      }
      return scalar(constant, plain.dataType()).filter(text -> accepts(text.trim()));
    }

    /** What the optimizer puts in the place of an expression that has no value of its own. */
    private static Optional<Expression> evaluated(Expression expression) {
      return expression instanceof RuntimeReplaceable replaceable
          ? Optional.of(replaceable.replacement())
          : expression instanceof Alias variable ? Optional.of(variable.child()) : Optional.empty();
    }

    private static Optional<String> elements(ArrayData array, DataType type) {
      List<String> texts = new ArrayList<>();
      for (int i = 0; i < array.numElements(); i++) {
        Object element = array.isNullAt(i) ? null : array.get(i, type);
        scalar(element, type).ifPresent(texts::add);
      }
      return texts.size() == array.numElements()
          ? Optional.of(String.join(",", texts))
          : Optional.empty();
    }

    private static Optional<String> scalar(Object constant, DataType type) {
      boolean isText =
          type instanceof StringType || type instanceof NumericType || type instanceof BooleanType;
      return isText ? Optional.ofNullable(constant).map(Object::toString) : Optional.empty();
    }
  }

  /** A parameter that every call gives an argument for. */
  static Parameter required(String name, Type type, String doc) {
    return new Parameter(name, type, true, "", doc);
  }

  /**
   * A parameter that may be left out.
   *
   * @param otherwise what holds then
   */
  static Parameter optional(String name, Type type, String otherwise, String doc) {
    return new Parameter(name, type, false, otherwise, doc);
  }

  /** The same with something else that holds where it is left out. */
  Parameter otherwise(String instead) {
    return new Parameter(name, type, isRequired, instead, doc);
  }

  boolean isTable() {
    return type == Type.TABLE;
  }

  /** As in a usage: {@code TABLE(a)}, {@code alpha}. */
  String inUsage() {
    return isTable() ? "TABLE(" + name + ")" : name;
  }

  /** Whether a name, in any case, is this one's. */
  boolean isNamed(String other) {
    return name.toLowerCase(Locale.ROOT).equals(other.toLowerCase(Locale.ROOT));
  }
}
