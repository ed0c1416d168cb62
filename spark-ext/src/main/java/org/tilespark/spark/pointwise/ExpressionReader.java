package org.tilespark.spark.pointwise;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.analysis.UnresolvedFunction;
import org.apache.spark.sql.catalyst.expressions.CaseWhen;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.types.Decimal;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.error.Suggestions;

/** Assigns types to the tree of an elementwise expression from Spark's parser. */
final class ExpressionReader {
  /** Users' names of the parts that an expression cannot contain, by Spark's class. */
  private static final Map<String, String> REFUSED =
      Map.ofEntries(
          Map.entry("Alias", "a name for the result"),
          Map.entry("BitwiseAnd", "&"),
          Map.entry("BitwiseNot", "~"),
          Map.entry("BitwiseOr", "|"),
          Map.entry("BitwiseXor", "^ (the power is pow)"),
          Map.entry("Concat", "||"),
          Map.entry("EqualNullSafe", "<=>"),
          Map.entry("Exists", "a sub-query"),
          Map.entry("InSubquery", "a sub-query"),
          Map.entry("IsNotNull", "a test for NULL"),
          Map.entry("IsNull", "a test for NULL"),
          Map.entry("LambdaFunction", "a lambda function"),
          Map.entry("MultiAlias", "a name for the result"),
          Map.entry("NamedArgumentExpression", "a named argument"),
          Map.entry("NamedParameter", "a parameter (a scalar is named without the colon)"),
          Map.entry("PosParameter", "a parameter"),
          Map.entry("ScalarSubquery", "a sub-query"),
          Map.entry("UnresolvedExtractValue", "an element of a value"),
          Map.entry("UnresolvedStar", "a star"),
          Map.entry("UnresolvedWindowExpression", "a window function"),
          Map.entry("WindowExpression", "a window function"));

  /**
   * Values of those fields of Spark's function call that mean no DISTINCT, FILTER, ORDER BY and so
   * on.
   */
  private static final List<Object> NO_MODIFIER =
      List.of(false, ScalaInterop.none(), ScalaInterop.emptySeq());

  private final String text;
  private final Map<String, Term> names; // by names in lower case
  private final int axes;
  private final Map<Class<?>, Function<Expression, Term>> readings = new HashMap<>();

  /**
   * A reader of one expression.
   *
   * @param text the expression
   * @param names terms that may be named in it, by names in lower case
   * @param axes number of axes of the array
   */
  ExpressionReader(String text, Map<String, Term> names, int axes) {
    this.text = text;
    this.names = names;
    this.axes = axes;
    Operators.all()
        .forEach((type, operator) -> reading(type, e -> call(operator, e, e.children())));
    reading(Literal.class, this::literal);
    reading(UnresolvedAttribute.class, this::name);
    reading(UnresolvedFunction.class, this::function);
    reading(Not.class, this::not);
    reading(CaseWhen.class, this::caseWhen);
    reading(Cast.class, this::cast);
  }

  private <E extends Expression> void reading(Class<E> type, Function<? super E, Term> reading) {
    readings.put(type, e -> reading.apply(type.cast(e)));
  }

  /**
   * The typed form of a part of the expression.
   *
   * @throws IllegalArgumentException if it is not allowed in an elementwise expression, or not with
   *     these operands; the message says which part, and what is allowed
   */
  Term read(Expression e) {
    return readings.getOrDefault(e.getClass(), this::refuse).apply(e);
  }

  private Term refuse(Expression e) {
    String what = REFUSED.getOrDefault(e.getClass().getSimpleName(), e.prettyName());
    throw found(e)
        .wrong(
            ("%s has no place in an elementwise expression, which is made of names, numbers,"
                    + " + - * / div %% = <> < <= > >= AND OR NOT IN BETWEEN CASE CAST, and of %s")
                .formatted(what, String.join(", ", ElementFunctions.all().keySet())));
  }

  private Term call(
      ElementFunction function,
      Expression e,
      scala.collection.immutable.Seq<Expression> arguments) {
    List<Term> terms = new ArrayList<>();
    ScalaInterop.list(arguments).forEach(argument -> terms.add(read(argument)));
    return function.apply(new Call(function.name(), found(e), terms, axes));
  }

  private Term literal(Literal literal) {
    Object value = literal.value();
    if (value instanceof Boolean truth) {
      return Term.bool(Value.integer(ElementType.INT8, truth ? 1 : 0));
    }
    if (value instanceof Decimal decimal) {
      return Term.literal(decimal.toDouble());
    }
    Optional<ElementType> type = BlockSchema.elementType(literal.dataType());
    if (value == null || type.isEmpty()) {
      throw found(literal)
          .wrong("literals are numbers, TRUE and FALSE; found " + literal.dataType().sql());
    }
    Number number = (Number) value;
    return ValueType.isFloating(type.get())
        ? Term.literal(number.doubleValue())
        : Term.literal(number.longValue());
  }

  private Term name(UnresolvedAttribute attribute) {
    String name = attribute.name();
    Term term = names.get(name.toLowerCase(Locale.ROOT));
    if (term == null) {
      throw found(attribute)
          .wrong("there is no %s; there are %s".formatted(name, listed(names.keySet(), name)));
    }
    return term;
  }

  private Term function(UnresolvedFunction call) {
    String name = String.join(".", ScalaInterop.list(call.nameParts()));
    ElementFunction function = ElementFunctions.all().get(name.toLowerCase(Locale.ROOT));
    if (function == null) {
      throw found(call)
          .wrong(
              "there is no elementwise function %s; there are %s"
                  .formatted(name, listed(ElementFunctions.all().keySet(), name)));
    }
    // After name and arguments: DISTINCT, FILTER, IGNORE NULLS, WITHIN GROUP, whose types differ
    // between versions of Spark.
    for (int i = 2; i < call.productArity(); i++) {
      if (!NO_MODIFIER.contains(call.productElement(i))) {
        throw found(call).wrong("DISTINCT, FILTER and the like are for aggregates");
      }
    }
    return call(function, call, call.arguments());
  }

  private Term not(Not not) {
    return not.child() instanceof EqualTo equal
        ? call(Operators.NOT_EQUAL, not, equal.children())
        : call(Operators.NOT, not, not.children());
  }

  /** CASE as a chain of ifs, built from its end. */
  private Term caseWhen(CaseWhen e) {
    List<Expression> children = ScalaInterop.list(e.children()); // WHEN, THEN, ..., ELSE
    if (children.size() % 2 == 0) {
      throw found(e).wrong("CASE takes an ELSE, since elements are never NULL");
    }
    Term chosen = read(children.get(children.size() - 1));
    for (int when = children.size() - 3; when >= 0; when -= 2) {
      List<Term> arguments =
          List.of(read(children.get(when)), read(children.get(when + 1)), chosen);
      chosen = ElementFunctions.choose(new Call("CASE", found(e), arguments, axes));
    }
    return chosen;
  }

  private Term cast(Cast cast) {
    Found found = found(cast);
    ElementType type =
        BlockSchema.elementType(cast.dataType())
            .orElseThrow(
                () ->
                    found.wrong(
                        "CAST takes TINYINT, SMALLINT, INT, BIGINT, FLOAT or DOUBLE; found "
                            + cast.dataType().sql()));
    if (cast.evalMode().toString().equals("TRY")) {
      throw found.wrong("TRY_CAST makes NULL, which elements are not; use CAST");
    }
    Term operand = read(cast.child());
    if (operand.isComplex()) {
      throw found.wrong("CAST takes real values; use real, imag or abs");
    }
    return Term.of(operand.real().in(type));
  }

  private Found found(Expression e) {
    Origin origin = e.origin();
    if (origin.startIndex().isEmpty() || origin.stopIndex().isEmpty()) {
      return new Found(text, 1);
    }
    int first = (Integer) origin.startIndex().get(); // index of a code point
    int last = (Integer) origin.stopIndex().get();
    int start = text.offsetByCodePoints(0, first);
    return new Found(
        text.substring(start, text.offsetByCodePoints(start, last + 1 - first)), first + 1);
  }

  /** All names that are known, with a suggestion if one is similar to {@code found}. */
  private static String listed(Collection<String> known, String found) {
    return String.join(", ", known) + Suggestions.didYouMean(found, known);
  }
}
