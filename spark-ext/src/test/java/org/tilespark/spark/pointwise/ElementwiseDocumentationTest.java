package org.tilespark.spark.pointwise;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.types.DataType;
import org.junit.jupiter.api.Test;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.pointwise.ElementExpression.Operand;

/** docs/elementwise.md keeps to what expressions do. */
class ElementwiseDocumentationTest {
  private static String page() throws IOException {
    return Files.readString(Path.of("../docs/elementwise.md"));
  }

  @Test
  void everyFunctionHasALine() throws IOException {
    String page = page();
    for (String name : ElementFunctions.all().keySet()) {
      assertTrue(page.contains("`" + name + "("), name);
    }
  }

  /** The table under "Types": operands, expression, result. */
  @Test
  void typesAreAsStated() throws IOException {
    String types = page().split("\n## Types\n")[1].split("\n## ")[0];
    int rows = 0;
    for (String line : types.lines().filter(line -> line.contains("| `")).toList()) {
      String[] cells = line.split(" *\\| *");
      String expression = cells[2].replace("`", "");
      assertEquals(cells[3], typeOf(cells[1].split(", "), expression), expression);
      rows++;
    }
    assertTrue(rows >= 20, types);
  }

  private static String typeOf(String[] types, String expression) {
    List<Operand> operands = new ArrayList<>();
    for (int i = 0; i < types.length; i++) {
      String name = types.length == 1 ? "v" : List.of("a", "b").get(i);
      DataType type = DataType.fromDDL(types[i]);
      operands.add(Operand.of(name, ValueType.real(BlockSchema.elementType(type).orElseThrow())));
    }
    return ElementExpression.parse(expression)
        .translate(BlockKind.MATRIX, operands, Map.of())
        .type()
        .text();
  }
}
