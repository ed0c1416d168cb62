package org.tilespark.spark.pointwise;

import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.analysis.NamedParameter;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.tilespark.kernels.pointwise.ElementwiseProgram;
import org.tilespark.kernels.pointwise.ElementwiseProgram.Input;
import org.tilespark.kernels.pointwise.ElementwiseProgram.Output;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.catalyst.ScalaInterop;

/**
 * A user's expression that computes each element of an array from the elements of others at the
 * same place: {@code "sqrt(v) * 2 + 1"}. The text is parsed by Spark's parser and typed by numpy's
 * rules; docs/elementwise.md has the rules. Immutable; equal texts are equal expressions.
 */
public final class ElementExpression {
  private final String text;
  private final Expression tree;

  private ElementExpression(String text, Expression tree) {
    this.text = text;
    this.tree = tree;
  }

  /**
   * An array that an expression may name.
   *
   * @param name name in the expression, in any case
   * @param type element type
   * @param broadcast axes along which it has extent 1 and the result may have more
   */
  public record Operand(String name, ValueType type, Set<Integer> broadcast) {
    /** Copies the set. */
    public Operand {
      broadcast = Set.copyOf(broadcast);
    }

    /** An array that has the extents of the result. */
    public static Operand of(String name, ValueType type) {
      return new Operand(name, type, Set.of());
    }
  }

  /**
   * An expression on arrays of known types.
   *
   * @param program has the operands as its inputs, in order, and one output
   * @param type type of the output's elements
   */
  public record Translation(ElementwiseProgram program, ValueType type) {}

  /**
   * Parses the text of an expression.
   *
   * @throws IllegalArgumentException if it is no expression; the message says where the error is
   */
  public static ElementExpression parse(String text) {
    ParserInterface parser = new CatalystSqlParser();
    try {
      return new ElementExpression(text, parser.parseExpression(text));
    } catch (ParseException e) {
      String reason = e.getMessage().strip().lines().findFirst().orElse("");
      throw new IllegalArgumentException(
          "'%s' is no expression of SQL: %s".formatted(text, reason), e);
    }
  }

  /** All names in the expression, in lower case. */
  Set<String> names() {
    Set<String> names = new HashSet<>();
    tree.foreach(
        ScalaInterop.function(
            node -> {
              if (node instanceof UnresolvedAttribute name) {
                names.add(name.name().toLowerCase(Locale.ROOT));
              } else if (node instanceof NamedParameter name) { // the reader of the tree refuses it
                names.add(name.name().toLowerCase(Locale.ROOT));
              }
              return null;
            }));
    return names;
  }

  /** The text as it was given. */
  public String text() {
    return text;
  }

  /**
   * The program for arrays of these types.
   *
   * @param kind kind of the blocks, which has the names of places: row and col, or x, y and z
   * @param operands arrays that may be named, at least one
   * @param scalars numbers that may be named too; they act exactly like literals
   * @throws IllegalArgumentException if a part of the expression is not elementwise, uses an
   *     unknown name, or does not fit the types; or if a name is used twice
   */
  public Translation translate(
      BlockKind kind, List<Operand> operands, Map<String, ? extends Number> scalars) {
    Map<String, Term> names = names(kind, operands, scalars);
    Term result = typed(new ExpressionReader(text, names, kind.rank()).read(tree), operands);
    ProgramWriter writer = new ProgramWriter();
    int real = writer.write(result.real());
    int imag = result.isComplex() ? writer.write(result.imag()) : -1;
    List<Input> inputs =
        operands.stream()
            .map(o -> new Input(o.type().element(), o.type().isComplex(), o.broadcast()))
            .toList();
    return new Translation(
        new ElementwiseProgram(
            kind.rank(), inputs, List.of(), writer.code(), List.of(new Output(real, imag))),
        result.type());
  }

  /** The names that an expression may use, in lower case, operands first. */
  private static Map<String, Term> names(
      BlockKind kind, List<Operand> operands, Map<String, ? extends Number> scalars) {
    Map<String, Term> names = new LinkedHashMap<>();
    for (int i = 0; i < operands.size(); i++) {
      name(names, operands.get(i).name(), load(i, operands.get(i).type()));
    }
    for (int axis = 0; axis < kind.rank(); axis++) {
      name(names, kind.offsetColumns().get(axis), Term.of(Value.place(axis)));
    }
    scalars.forEach((name, number) -> name(names, name, scalar(name, number)));
    return names;
  }

  private static void name(Map<String, Term> names, String name, Term term) {
    if (names.putIfAbsent(name.toLowerCase(Locale.ROOT), term) != null) {
      throw new IllegalArgumentException(
          "The name %s has two meanings; there are %s"
              .formatted(name, String.join(", ", names.keySet())));
    }
  }

  private static Term load(int input, ValueType type) {
    Value real = Value.load(type.element(), input, 0);
    return type.isComplex()
        ? Term.complex(real, Value.load(type.element(), input, 1))
        : Term.of(real).asBool(type.isBool());
  }

  private static Term scalar(String name, Number number) {
    if (number instanceof Double || number instanceof Float) {
      return Term.literal(number.doubleValue());
    }
    if (number instanceof Long
        || number instanceof Integer
        || number instanceof Short
        || number instanceof Byte) {
      return Term.literal(number.longValue());
    }
    throw new IllegalArgumentException(
        "Scalar %s is a %s; expected a whole or floating-point number of Java"
            .formatted(name, number.getClass().getSimpleName()));
  }

  /** The result in its final type: a result of literals alone takes that of the operands' parts. */
  private Term typed(Term result, List<Operand> operands) {
    if (!result.isLiteral()) {
      return result;
    }
    ElementType parts =
        operands.stream()
            .map(operand -> operand.type())
            .reduce(ValueType::with)
            .map(ValueType::element)
            .orElseThrow();
    ValueType type = Promotion.withLiteral(ValueType.real(parts), result.type());
    Call.requireFit(new Found(text, 1), type, result);
    return result.in(type);
  }

  @Override
  public boolean equals(Object o) {
    return o instanceof ElementExpression other && other.text.equals(text);
  }

  @Override
  public int hashCode() {
    return text.hashCode();
  }

  @Override
  public String toString() {
    return text;
  }
}
