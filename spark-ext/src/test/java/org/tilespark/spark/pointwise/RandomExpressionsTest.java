package org.tilespark.spark.pointwise;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.pointwise.ElementwiseProgram;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.pointwise.ElementExpression.Operand;
import org.tilespark.spark.pointwise.ElementExpression.Translation;

/**
 * Whatever is written is a program of the stated type, or is refused with its place in the text.
 */
class RandomExpressionsTest {
  private static final int EXPRESSIONS = 3000;
  private static final List<String> LEAVES =
      List.of(
          "v", "c", "d", "t", "i8", "i16", "i32", "i64", "row", "col", "s", "k", "1", "-3", "300",
          "0.5", "2", "TRUE", "pi()");
  private static final List<String> OPERATORS =
      List.of("+", "-", "*", "/", "div", "%", "=", "<>", "<", "<=", ">", ">=", "AND", "OR");
  private static final List<Operand> OPERANDS =
      List.of(
          Operand.of("v", ValueType.real(ElementType.FLOAT32)),
          Operand.of("d", ValueType.real(ElementType.FLOAT64)),
          Operand.of("c", ValueType.complex(ElementType.FLOAT32)),
          Operand.of("t", ValueType.BOOL),
          Operand.of("i8", ValueType.real(ElementType.INT8)),
          Operand.of("i16", ValueType.real(ElementType.INT16)),
          Operand.of("i32", ValueType.real(ElementType.INT32)),
          Operand.of("i64", ValueType.real(ElementType.INT64)));

  @Test
  void programsOrRefusals() {
    long seed = new Random().nextLong();
    Random random = new Random(seed);
    int programs = 0;
    for (int i = 0; i < EXPRESSIONS; i++) {
      String text = expression(random, 1 + random.nextInt(4));
      programs += isProgram(text, seed) ? 1 : 0;
    }
    assertTrue(programs > EXPRESSIONS / 10, programs + " programs, seed " + seed);
  }

  private static boolean isProgram(String text, long seed) {
    ElementExpression expression = ElementExpression.parse(text);
    Translation found;
    try {
      found = expression.translate(BlockKind.MATRIX, OPERANDS, Map.of("s", 2.5, "k", 7));
    } catch (IllegalArgumentException e) {
      assertTrue(
          e.getMessage().matches("(?s)'.*' at character \\d+: .*"),
          () -> "%s: %s, seed %s".formatted(text, e, seed));
      return false;
    }
    ElementwiseProgram program = found.program();
    ElementwiseProgram.Output output = program.outputs().get(0);
    assertEquals(found.type().isComplex(), output.isComplex(), text);
    assertEquals(found.type().element(), program.types().get(output.real()), text);
    assertEquals(
        program.code().size(), program.code().stream().distinct().count(), () -> text + program);
    return true;
  }

  private static String expression(Random random, int depth) {
    if (depth == 0) {
      return LEAVES.get(random.nextInt(LEAVES.size()));
    }
    return switch (random.nextInt(6)) {
      case 0 -> "(- " + expression(random, depth - 1) + ")";
      case 1 -> "NOT (" + expression(random, depth - 1) + ")";
      case 2 -> call(random, depth);
      case 3 ->
          "CASE WHEN %s > 0 THEN %s ELSE %s END"
              .formatted(
                  leaf(random), expression(random, depth - 1), expression(random, depth - 1));
      default ->
          "(%s %s %s)"
              .formatted(
                  expression(random, depth - 1),
                  OPERATORS.get(random.nextInt(OPERATORS.size())),
                  expression(random, depth - 1));
    };
  }

  private static String leaf(Random random) {
    return expression(random, 0);
  }

  private static String call(Random random, int depth) {
    List<ElementFunction> functions = List.copyOf(ElementFunctions.all().values());
    ElementFunction function = functions.get(random.nextInt(functions.size()));
    List<String> arguments = new ArrayList<>();
    for (int i = 0; i < function.fewest(); i++) {
      arguments.add(expression(random, random.nextInt(depth)));
    }
    return function.name() + "(" + String.join(", ", arguments) + ")";
  }
}
