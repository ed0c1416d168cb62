package org.tilespark.spark.pointwise;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.tilespark.kernels.host.HostElementwise;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.pointwise.ElementExpression.Operand;
import org.tilespark.spark.pointwise.ElementExpression.Translation;

/** Expressions compared with numpy's results, which dev/numpy-table has written into a file. */
class NumpyTableTest {
  static List<NumpyTable.Case> cases() {
    return NumpyTable.CASES;
  }

  @ParameterizedTest
  @MethodSource("cases")
  void resultsAreNumpys(NumpyTable.Case given) {
    List<String> names = List.copyOf(given.operands().keySet());
    List<NumpyTable.Array> arrays =
        given.operands().values().stream().map(NumpyTable.ARRAYS::get).toList();
    Broadcasting together =
        Broadcasting.of(given.kind(), names, arrays.stream().map(NumpyTable.Array::shape).toList());
    List<Operand> operands = new ArrayList<>();
    for (int i = 0; i < names.size(); i++) {
      operands.add(new Operand(names.get(i), arrays.get(i).type(), together.repeated().get(i)));
    }
    Translation translation =
        ElementExpression.parse(given.expression()).translate(given.kind(), operands, Map.of());
    assertEquals(given.type(), translation.type());
    int elements = (int) together.extents().elements();
    ElementType element = given.type().element();
    List<byte[]> planes = new ArrayList<>();
    for (int part = 0; part < (given.type().isComplex() ? 2 : 1); part++) {
      planes.add(new byte[elements * element.bytes()]);
    }
    long[] origin = {5, 70, 900}; // as in dev/numpy_table.py
    new HostElementwise()
        .run(
            translation.program(),
            together.extents(),
            Arrays.copyOf(origin, given.kind().rank()),
            List.of(),
            arrays.stream().map(NumpyTable.Array::planes).toList(),
            List.of(planes.stream().map(HostMemory::ofArray).toList()));
    ByteBuffer expected = NumpyTable.little(given.expected());
    for (int i = 0; i < elements; i++) {
      for (byte[] plane : planes) {
        NumpyTable.assertNear(
            given, i, element, expected, NumpyTable.little(plane).position(i * element.bytes()));
      }
    }
  }

  /** The table would not notice a function that nobody has put into it. */
  @Test
  void tableHasEveryFunction() {
    String all =
        String.join(" ", NumpyTable.CASES.stream().map(NumpyTable.Case::expression).toList());
    for (String name : ElementFunctions.all().keySet()) {
      // ElementExpressionTest and MapAndZipTest have these.
      if (!List.of("between", "ceiling", "signum", "pi", "rand", "randn").contains(name)) {
        assertTrue(all.contains(name + "("), name);
      }
    }
  }
}
