package org.tilespark.kernels.host;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.pointwise.ElementwiseCases;
import org.tilespark.kernels.pointwise.ElementwiseCases.Block;
import org.tilespark.kernels.pointwise.ElementwiseErrors;
import org.tilespark.kernels.pointwise.ElementwiseProgram;
import org.tilespark.layout.ElementType;

/** Errors of the host, as docs/decisions/elementwise-programs.md states them. */
class HostElementwiseErrorsTest {
  @Test
  void errorsStayWithinTheirBounds() {
    TreeMap<String, String> errors = new TreeMap<>();
    List<String> wrong =
        ElementwiseErrors.check(
            HostElementwiseErrorsTest::run, (what, ulps) -> errors.put(what, ulps));
    assertEquals(List.of(), wrong);
    assertEquals(ElementwiseErrors.count(), errors.size());
    errors.forEach((what, ulps) -> System.out.println(what + ": " + ulps));
  }

  private static List<List<long[]>> run(ElementwiseProgram program, Block block) {
    ElementType type = program.inputs().get(0).type();
    byte[] out = new byte[(int) block.shape().elements() * type.bytes()];
    new HostElementwise()
        .run(
            program,
            block.shape(),
            block.origin(),
            List.of(),
            block.inputs().stream()
                .map(
                    parts ->
                        List.of(HostMemory.ofArray(ElementwiseCases.packed(type, parts.get(0)))))
                .toList(),
            List.of(List.of(HostMemory.ofArray(out))));
    return List.of(List.of(ElementwiseCases.unpacked(type, out)));
  }
}
