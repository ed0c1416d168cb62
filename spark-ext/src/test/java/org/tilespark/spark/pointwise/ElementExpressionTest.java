package org.tilespark.spark.pointwise;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigDecimal;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.tilespark.kernels.pointwise.BinaryFunction;
import org.tilespark.kernels.pointwise.ElementwiseProgram;
import org.tilespark.kernels.pointwise.ElementwiseProgram.Input;
import org.tilespark.kernels.pointwise.ElementwiseProgram.Output;
import org.tilespark.kernels.pointwise.Instruction;
import org.tilespark.kernels.pointwise.Instruction.Binary;
import org.tilespark.kernels.pointwise.Instruction.Constant;
import org.tilespark.kernels.pointwise.Instruction.Load;
import org.tilespark.kernels.pointwise.Instruction.Unary;
import org.tilespark.kernels.pointwise.UnaryFunction;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.pointwise.ElementExpression.Operand;
import org.tilespark.spark.pointwise.ElementExpression.Translation;

/** Programs and types of expressions, and what is refused. {@link NumpyTableTest} has values. */
@Tag("versions")
class ElementExpressionTest {
  /** One of each kind of type. */
  private static final List<Operand> OPERANDS =
      List.of(
          Operand.of("v", ValueType.real(ElementType.FLOAT32)),
          Operand.of("d", ValueType.real(ElementType.FLOAT64)),
          Operand.of("i", ValueType.real(ElementType.INT8)),
          Operand.of("n", ValueType.real(ElementType.INT32)),
          Operand.of("c", ValueType.complex(ElementType.FLOAT32)),
          Operand.of("t", ValueType.BOOL));

  private static Translation translated(String expression) {
    return ElementExpression.parse(expression)
        .translate(BlockKind.MATRIX, OPERANDS, Map.of("s", 2.5, "k", 3));
  }

  private static List<Instruction> code(String expression) {
    return translated(expression).program().code();
  }

  @Test
  void programIsTheExpression() {
    List<Operand> operands =
        List.of(
            new Operand("a", ValueType.real(ElementType.FLOAT32), Set.of(0)),
            Operand.of("b", ValueType.complex(ElementType.FLOAT32)));
    Translation found =
        ElementExpression.parse("sqrt(a) - b").translate(BlockKind.VOLUME, operands, Map.of());
    assertEquals(ValueType.complex(ElementType.FLOAT32), found.type());
    assertEquals(
        new ElementwiseProgram(
            3,
            List.of(
                new Input(ElementType.FLOAT32, false, Set.of(0)),
                Input.of(ElementType.FLOAT32, true)),
            List.of(),
            List.of(
                new Load(0, 0),
                new Unary(UnaryFunction.SQRT, 0),
                new Load(1, 0),
                new Binary(BinaryFunction.SUBTRACT, 1, 2),
                Constant.of(0f),
                new Load(1, 1),
                new Binary(BinaryFunction.SUBTRACT, 4, 5)),
            List.of(new Output(3, 6))),
        found.program());
  }

  @Test
  void commonSubexpressionsAreOneInstruction() {
    assertEquals(
        List.of(
            new Load(1, 0),
            Constant.of(1.0),
            new Binary(BinaryFunction.SUBTRACT, 0, 1),
            new Binary(BinaryFunction.MULTIPLY, 2, 2)),
        code("(d - 1) * (d - 1)"));
    assertEquals(3, code("exp(v) + exp(v)").size());
  }

  @Test
  void whatNoOutputNeedsIsNotThere() {
    assertEquals(List.of(new Load(0, 0)), code("if(1 < 2, v, exp(v))"));
    assertEquals(List.of(new Load(4, 1)), code("imag(c)"));
  }

  /** Literals meet in DOUBLE before they meet an array, as Python's. */
  @Test
  void constantsAreFolded() {
    Constant radians = Constant.of((float) (2 * Math.PI / 360));
    assertEquals(radians, code("v * (2 * pi() / 360)").get(1));
    assertEquals(new Constant(ElementType.INT8, -128), code("i + -128").get(1));
    assertEquals(Constant.of(Math.sqrt(2)), code("d * sqrt(2)").get(1));
    assertEquals(new Constant(ElementType.INT8, 7), code("i * (1 + 2 * 3)").get(1));
    assertEquals(Constant.of(0.1f), code("v + CAST(0.1 AS FLOAT)").get(1));
    assertEquals(Constant.of(Float.NaN), code("v + nan()").get(1));
    assertEquals(Constant.of(Float.POSITIVE_INFINITY), code("v + 1 / 0").get(1));
  }

  /** Their bits differ between twins. */
  @Test
  void functionsOfConstantsAreNot() {
    assertTrue(code("v + exp(2)").contains(new Unary(UnaryFunction.EXP, 1)));
    assertTrue(code("d + 0 / 0").contains(new Binary(BinaryFunction.DIVIDE, 1, 1)));
  }

  @Test
  void choicesAmongLiteralsAreOfTheOtherType() {
    assertEquals(
        List.of(
            new Load(0, 0),
            new Load(5, 0),
            Constant.of(2f),
            Constant.of(1f),
            new Instruction.Select(1, 2, 3),
            new Binary(BinaryFunction.MULTIPLY, 0, 4)),
        code("v * (if(t, 1, 0) + 1)"));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          v + 1                      | FLOAT
          v + 1.5                    | FLOAT
          v + 1.5D                   | FLOAT
          v + s                      | FLOAT
          v * k                      | FLOAT
          v + d                      | DOUBLE
          v + i                      | FLOAT
          v + n                      | DOUBLE
          v + row                    | DOUBLE
          v + CAST(row AS FLOAT)     | FLOAT
          i + 1                      | TINYINT
          i + k                      | TINYINT
          i + 1.5                    | DOUBLE
          i + s                      | DOUBLE
          i + n                      | INT
          i + col                    | BIGINT
          i / 1                      | DOUBLE
          i / v                      | FLOAT
          n / v                      | DOUBLE
          sqrt(i)                    | FLOAT
          sqrt(n)                    | DOUBLE
          sqrt(t)                    | FLOAT
          floor(i)                   | TINYINT
          i < 300                    | a truth value
          t + t                      | a truth value
          t + 1                      | BIGINT
          t + i                      | TINYINT
          t * v                      | FLOAT
          t % t                      | TINYINT
          CAST(t AS TINYINT)         | TINYINT
          if(t, i, 0.5)              | DOUBLE
          if(t, TRUE, t)             | a truth value
          v * if(t, 1, 0)            | FLOAT
          i * (if(t, 1, 0) + if(t, 1, 0)) | BIGINT
          c * 2                      | complex FLOAT
          c * d                      | complex DOUBLE
          c * n                      | complex DOUBLE
          c * i                      | complex FLOAT
          v * complex(0, 1)          | complex FLOAT
          n * complex(0, 1)          | complex DOUBLE
          complex(i, i)              | complex DOUBLE
          complex(v, 0)              | complex FLOAT
          abs(c)                     | FLOAT
          c = 1                      | a truth value
          """)
  void types(String expression, String type) {
    assertEquals(type, translated(expression).type().text());
  }

  /** An expression of literals alone is of the operands' type. */
  @ParameterizedTest
  @CsvSource({
    "1, INT8, INT8",
    "1, FLOAT32, FLOAT32",
    "0.5, INT8, FLOAT64",
    "0.5, FLOAT32, FLOAT32"
  })
  void literalsAlone(String expression, ElementType operand, ElementType expected) {
    Translation found =
        ElementExpression.parse("if(v > 0, %s, 0)".formatted(expression))
            .translate(
                BlockKind.MATRIX, List.of(Operand.of("v", ValueType.real(operand))), Map.of());
    assertEquals(ValueType.real(expected), found.type());
    assertEquals(expected, found.program().types().get(found.program().outputs().get(0).real()));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          V + `i`                    | v + i
          SQRT(v)                    | sqrt(v)
          ceiling(v)                 | ceil(v)
          signum(v)                  | sign(v)
          power(v, 3)                | pow(v, 3)
          v BETWEEN 1 AND s          | v >= 1 AND v <= 2.5
          v NOT BETWEEN 1 AND 2      | NOT (v BETWEEN 1 AND 2)
          v IN (1, 2)                | v = 1 OR v = 2
          v != 1                     | NOT v = 1
          v == 1                     | v = 1
          !t                         | NOT t
          v > 1                      | 1 < v
          v::DOUBLE                  | CAST(v AS DOUBLE)
          CASE i WHEN 1 THEN v ELSE 0 END | if(i = 1, v, 0)
          CASE WHEN t THEN 1 WHEN i = 1 THEN v ELSE 2 END | if(t, 1, if(i = 1, v, 2))
          v * pi()                   | v * 3.141592653589793
          pow(v, 2)                  | v * v
          pow(v, 0.5)                | sqrt(v)
          pow(i, 1)                  | i
          round(i, 2)                | i
          real(v)                    | v
          v * s                      | v * 2.5
          i * k                      | i * 3
          """)
  void areTheSame(String expression, String other) {
    assertEquals(translated(other), translated(expression));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '@',
      textBlock =
          """
          v +                        @ no expression of SQL: [PARSE_SYNTAX_ERROR]
          w + 1                      @ 'w' at character 1: there is no w; there are v, d, i, n, c, t, row, col,
          v + vv                     @ did you mean 'v'?
          v + x                      @ 'x' at character 5: there is no x
          `\uD83D\uDE00` + w           @ '`\uD83D\uDE00`' at character 1: there is no
          a.v                        @ there is no a.v
          1 + sgrt(v)                @ 'sgrt(v)' at character 5: there is no elementwise function sgrt; there are abs, arg, atan2,
          sgrt(v)                    @ tanh; did you mean 'sqrt'?
          sum(v)                     @ there is no elementwise function sum
          my.abs(v)                  @ there is no elementwise function my.abs
          transform(v, x -> x)       @ there is no elementwise function transform
          abs(DISTINCT v)            @ DISTINCT, FILTER and the like are for aggregates
          abs(v) FILTER (WHERE t)    @ DISTINCT, FILTER and the like are for aggregates
          abs(v) IGNORE NULLS        @ DISTINCT, FILTER and the like are for aggregates
          abs(v) OVER (PARTITION BY i) @ a window function has no place in an elementwise expression
          (SELECT 1)                 @ a sub-query has no place in an elementwise expression, which is made of names
          EXISTS (SELECT 1)          @ a sub-query has no place
          v IN (SELECT 1)            @ a sub-query has no place
          v + :p                     @ ':p' at character 5: a parameter (a scalar is named without the colon) has no place
          v + ?                      @ a parameter has no place
          abs(x -> x)                @ a lambda function has no place
          v AS x                     @ a name for the result has no place
          *                          @ a star has no place
          v[0]                       @ an element of a value has no place
          clip(v, 0, hi => 1)        @ a named argument has no place
          v <=> 1                    @ <=> has no place in an elementwise expression
          i & 1                      @ & has no place
          v ^ 2                      @ ^ (the power is pow) has no place
          i | 1                      @ | has no place
          v || v                     @ || has no place
          v LIKE 'a'                 @ like has no place
          v IS NULL                  @ a test for NULL has no place
          v IS NOT NULL              @ a test for NULL
          NULL                       @ literals are numbers, TRUE and FALSE; found VOID
          v + 'a'                    @ found STRING
          DATE '2020-01-01'          @ found DATE
          CASE WHEN t THEN v END     @ CASE takes an ELSE, since elements are never NULL
          CAST(v AS DECIMAL(3, 1))   @ CAST takes TINYINT, SMALLINT, INT, BIGINT, FLOAT or DOUBLE; found DECIMAL(3,1)
          TRY_CAST(v AS INT)         @ TRY_CAST makes NULL
          CAST(c AS FLOAT)           @ CAST takes real values; use real, imag or abs
          abs()                      @ abs takes 1 argument; found 0
          atan2(v)                   @ atan2 takes 2 arguments; found 1
          round(v, 1, 2)             @ round takes 1 to 2 arguments; found 3
          greatest(v)                @ greatest takes 2 or more arguments; found 1
          exp(c)                     @ exp takes real values; found complex FLOAT
          greatest(v, c)             @ greatest takes real values; found complex FLOAT
          c < v                      @ < takes real values; found complex FLOAT
          c % 2                      @ % takes real values; found complex FLOAT
          v AND t                    @ AND takes truth values; found FLOAT; write a comparison, as v <> 0
          NOT i                      @ NOT takes truth values; found TINYINT
          if(i, v, v)                @ if takes truth values; found TINYINT
          CASE WHEN v THEN 1 ELSE 0 END @ CASE takes truth values; found FLOAT
          -t                         @ a truth value has no negative, as in numpy; use NOT
          t - t                      @ truth values have no difference
          sign(t)                    @ sign of a truth value is not defined
          v + (i + 300)              @ 'i + 300' at character 6: an integer literal does not fit TINYINT
          greatest(i, if(t, 1, 200)) @ an integer literal does not fit TINYINT
          pow(i, n)                  @ powers of integers have literal exponents of 0 or more
          pow(i, -1)                 @ powers of integers have literal exponents of 0 or more
          round(v, n)                @ round takes a literal count of decimals from -22 to 22
          round(v, 23)               @ round takes a literal count of decimals
          """)
  void refusals(String expression, String reason) {
    String found =
        assertThrows(IllegalArgumentException.class, () -> translated(expression)).getMessage();
    assertTrue(found.contains(reason), () -> found + "\nhas no\n" + reason);
  }

  @Test
  void literalsAloneThatDoNotFit() {
    List<Operand> bytes = List.of(Operand.of("v", ValueType.real(ElementType.INT8)));
    ElementExpression expression = ElementExpression.parse("300");
    assertThrows(
        IllegalArgumentException.class,
        () -> expression.translate(BlockKind.MATRIX, bytes, Map.of()));
  }

  @Test
  void scalarsAreJavasNumbersWithNamesOfTheirOwn() {
    ElementExpression expression = ElementExpression.parse("v");
    for (Map<String, Number> scalars :
        List.<Map<String, Number>>of(
            Map.of("V", 1), Map.of("row", 1), Map.of("s", new BigDecimal("1.5")))) {
      assertThrows(
          IllegalArgumentException.class,
          () -> expression.translate(BlockKind.MATRIX, OPERANDS, scalars),
          scalars::toString);
    }
  }

  @Test
  void placesAreThoseOfTheKind() {
    Translation found =
        ElementExpression.parse("z").translate(BlockKind.VOLUME, OPERANDS, Map.of());
    assertEquals(List.of(new Instruction.Place(2)), found.program().code());
    assertEquals(List.of(new Instruction.Place(1)), code("col"));
  }

  @Test
  void equalTextsAreEqual() {
    assertEquals(ElementExpression.parse("v + 1"), ElementExpression.parse("v + 1"));
    assertEquals(ElementExpression.parse("v").hashCode(), ElementExpression.parse("v").hashCode());
    assertNotEquals(ElementExpression.parse("v + 1"), ElementExpression.parse("v + 2"));
    assertEquals("v + 1", ElementExpression.parse("v + 1").toString());
  }

  @Test
  void typesThatAreNot() {
    assertThrows(IllegalArgumentException.class, () -> ValueType.complex(ElementType.INT32));
    assertThrows(
        IllegalArgumentException.class, () -> new ValueType(ElementType.INT16, false, true));
  }
}
